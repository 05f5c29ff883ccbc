// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// send sends an event to a handler: a creation, an update or a deletion.
func send[T client.Object](h EventHandler, q keyQueue, before, after *T) {
	ctx := context.Background()
	switch {
	case before == nil:
		h.Create(ctx, event.TypedCreateEvent[client.Object]{Object: *after}, q)
	case after == nil:
		h.Delete(ctx, event.TypedDeleteEvent[client.Object]{Object: *before}, q)
	default:
		h.Update(ctx, event.TypedUpdateEvent[client.Object]{ObjectOld: *before, ObjectNew: *after}, q)
	}
}

// enqueued returns the keys that are enqueued, as parent/key.
func enqueued(do func(keyQueue)) []string {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[Request]())
	defer q.ShutDown()
	do(q)
	all := map[string]bool{}
	for q.Len() > 0 {
		req, _ := q.Get()
		all[req.Parent.Name+"/"+req.MapKey] = true
		q.Done(req)
	}
	return slices.Sorted(maps.Keys(all))
}

func pod(changes ...func(*corev1.Pod)) **corev1.Pod { return new(fixture.Output("o", changes...)) }

// version makes an object another version.
func version(o *corev1.Pod) { o.ResourceVersion = "1000" }

// Outputs of a parent that owns by labels are its own for all events. Only one with a
// reference has to be released when it loses its map key.
func TestRouteOutputsByLabels(t *testing.T) {
	orphan := fixture.Orphan
	annotated := func(o *corev1.Pod) { o.Annotations = map[string]string{"a": "b"} }
	own := []string{"p/in-uid"}
	for name, test := range map[string]struct {
		before, after **corev1.Pod
		want          []string
		// wantOwned is set if Observed is called with the output as an owned one.
		wantOwned bool
	}{
		"appears":                {after: pod(orphan), want: own, wantOwned: true},
		"changes":                {before: pod(orphan), after: pod(orphan, version, annotated), want: own, wantOwned: true},
		"is deleted":             {before: pod(orphan), want: own},
		"loses its reference":    {before: pod(), after: pod(version, orphan), want: own, wantOwned: true},
		"has one and is deleted": {before: pod(), want: []string{"p/", "p/in-uid"}},
		"another parent's now":   {before: pod(orphan), after: pod(orphan, version, fixture.Label(fixture.Tags.Parent, "q")), want: []string{"p/in-uid", "q/in-uid"}},
	} {
		t.Run(name, func(t *testing.T) {
			owned := false
			h := newHarness(t, []client.Object{fixture.Parent()}, nil, ownsByLabels, func(c *MapController, _ *Options) {
				c.Outputs[0].OnChange = func(_ types.NamespacedName, _, after client.Object) { owned = after != nil }
			})
			got := enqueued(func(q keyQueue) { send(h.outputEvents(h.spec.Outputs[0]), q, test.before, test.after) })
			if !slices.Equal(got, test.want) || owned != test.wantOwned {
				t.Errorf("enqueued %v, want %v; observed as owned: %v", got, test.want, owned)
			}
		})
	}
}

func TestRouteOutputs(t *testing.T) {
	orphan := fixture.Orphan
	annotated := func(o *corev1.Pod) { o.Annotations = map[string]string{"a": "b"} }
	key := func(key string) func(*corev1.Pod) { return fixture.Label(fixture.Tags.MapKey, key) }
	service := func(o *corev1.Pod) { o.OwnerReferences[0].Kind = "Service" }
	own, foreign := []string{"p/in-uid"}, fixture.Foreign
	for name, test := range map[string]struct {
		before, after **corev1.Pod
		want          []string
		// wantOwned is set if Observed is called with the output as an owned one.
		wantOwned bool
	}{
		"created":                         {after: pod(), want: own, wantOwned: true},
		"changed":                         {before: pod(), after: pod(version), want: own, wantOwned: true},
		"deleted":                         {before: pod(), want: []string{"p/", "p/in-uid"}},
		"a resync":                        {before: pod(), after: pod()},
		"an orphan appears":               {after: pod(orphan), want: own},
		"an orphan is deleted":            {before: pod(orphan)},
		"an orphan changes":               {before: pod(orphan), after: pod(orphan, version, annotated)},
		"an orphan's labels change":       {before: pod(orphan, key("other")), after: pod(orphan, version), want: own},
		"an orphan is adopted":            {before: pod(orphan), after: pod(version), want: own, wantOwned: true},
		"released":                        {before: pod(), after: pod(version, orphan), want: own},
		"moves to another parent":         {before: pod(), after: pod(version, fixture.Owners(fixture.OwnedBy("q", "q-uid"))), want: []string{"p/in-uid", "q/in-uid"}, wantOwned: true},
		"moves to another key":            {before: pod(), after: pod(version, key("other")), want: []string{"p/in-uid", "p/other"}, wantOwned: true},
		"another kind takes it":           {before: pod(), after: pod(version, service), want: own},
		"of another kind, changes":        {before: pod(service), after: pod(version, service)},
		"of another kind, is deleted":     {before: pod(service)},
		"an orphan that names no parent":  {after: pod(func(o *corev1.Pod) { o.OwnerReferences, o.Labels = nil, nil })},
		"owned, and its map key is empty": {after: pod(key("")), want: []string{"p/"}, wantOwned: true},
		// It is enqueued, so that the controllerRef is removed, and never counted.
		"foreign, with a controllerRef":   {after: pod(foreign), want: own},
		"becomes foreign":                 {before: pod(), after: pod(version, foreign), want: own},
		"foreign, is deleted":             {before: pod(foreign), want: []string{"p/", "p/in-uid"}},
		"foreign, changes":                {before: pod(orphan, foreign), after: pod(version, orphan, foreign), want: own},
		"foreign, becomes an orphan":      {before: pod(orphan, foreign), after: pod(version, orphan), want: own},
		"an orphan that is foreign, goes": {before: pod(orphan, foreign)},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			h := newHarness(t, nil, nil, func(c *MapController, _ *Options) {
				c.Ownership.Foreign = fixture.IsForeign
				c.Outputs[0].OnChange = func(_ types.NamespacedName, before, after client.Object) {
					calls++
					if (before != nil) != (test.before != nil) || (after != nil) != test.wantOwned {
						t.Errorf("called with %v, %v", before, after)
					}
				}
			})
			got := enqueued(func(q keyQueue) { send(h.outputEvents(h.spec.Outputs[0]), q, test.before, test.after) })
			if !slices.Equal(got, test.want) || (calls == 1) != (name != "a resync" && (test.before != nil || test.wantOwned)) {
				t.Errorf("enqueued %v, want %v; observed %d times", got, test.want, calls)
			}
		})
	}
}

func TestRouteRelated(t *testing.T) {
	all := []string{"p/in-uid", "p/other"}
	changed := func(o *corev1.Pod) { o.Annotations = map[string]string{"a": "b"} }
	for name, test := range map[string]struct {
		before, after **corev1.Pod
		initial       bool
		want          []string
	}{
		"created":                {after: pod(), want: all},
		"in the first list":      {after: pod(), initial: true},
		"changed":                {before: pod(), after: pod(version, changed), want: all},
		"changed elsewhere":      {before: pod(), after: pod(version)},
		"deleted":                {before: pod(), want: all},
		"created again unseen":   {before: pod(), after: pod(func(o *corev1.Pod) { o.UID = "again" }), want: all},
		"its deletion has begun": {before: pod(), after: pod(fixture.Deleting[*corev1.Pod]), want: all},
		"of no concern":          {before: pod(), after: pod(version, changed, func(o *corev1.Pod) { o.Name = "unconcerned" })},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("o", fixture.Label(fixture.Tags.MapKey, "other"))}
			h := newHarness(t, cached, nil, func(c *MapController, _ *Options) {
				c.Related.Kinds = []Input{{Object: &corev1.Pod{}, Changed: func(before, after client.Object) bool {
					return len(before.GetAnnotations()) != len(after.GetAnnotations())
				}, Concerns: func(related, parent client.Object) bool {
					return related.GetName() != "unconcerned" && parent.GetName() == testKey.Parent.Name
				}}}
			})
			got := enqueued(func(q keyQueue) {
				if test.initial {
					h.relatedEvents(h.spec.Related.Kinds[0]).Create(t.Context(), event.TypedCreateEvent[client.Object]{Object: *test.after, IsInInitialList: true}, q)
					return
				}
				send(h.relatedEvents(h.spec.Related.Kinds[0]), q, test.before, test.after)
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("enqueued %v, want %v", got, test.want)
			}
		})
	}
}

// Only events of owned outputs show a write of the engine.
func TestOutputEventsMeetExpectations(t *testing.T) {
	deleting := fixture.Deleting[*corev1.Pod]
	for name, test := range map[string]struct {
		before, after **corev1.Pod
		deleted       bool // the engine deleted the output, rather than created it
		byLabels      bool
		want          bool
	}{
		"a create that shows":               {after: pod(), want: true},
		"a create that shows by an update":  {before: pod(), after: pod(version), want: true},
		"a create that was deleted already": {before: pod(), want: true},
		"not an orphan that appears":        {after: pod(fixture.Orphan)},
		"a delete that shows":               {before: pod(), deleted: true, want: true},
		"a delete that has begun":           {before: pod(), after: pod(version, deleting), deleted: true, want: true},
		"not an update":                     {before: pod(), after: pod(version), deleted: true},
		"not an orphan that is deleted":     {before: pod(fixture.Orphan), deleted: true},
		"by labels, a create that shows":    {after: pod(fixture.Orphan), byLabels: true, want: true},
		"by labels, a delete that shows":    {before: pod(fixture.Orphan), deleted: true, byLabels: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Parent(), fixture.Input(func(s *corev1.Secret) { s.Name = "o" })}
			if test.deleted {
				cached = []client.Object{fixture.Parent(), *pod()}
			}
			changes := []func(*MapController, *Options){}
			if test.byLabels {
				changes = append(changes, ownsByLabels)
				if test.deleted {
					cached[1] = *pod(fixture.Orphan)
				}
			}
			h := newHarness(t, cached, cached, changes...)
			h.reconcile(t)
			if h.attempts.Expects(testKey) == 0 {
				t.Fatal("nothing was written")
			}
			enqueued(func(q keyQueue) { send(h.outputEvents(h.spec.Outputs[0]), q, test.before, test.after) })
			if got := h.attempts.Expects(testKey) == 0; got != test.want {
				t.Errorf("met: %v, want %v", got, test.want)
			}
		})
	}
}

// To the cache, an output that lost its map key was deleted. Only what may have
// lost it costs a live list.
func TestDeletedOutputsMayHaveLostTheirKey(t *testing.T) {
	deleting := fixture.Deleting[*corev1.Pod]
	for name, test := range map[string]struct {
		output **corev1.Pod
		ours   bool
		want   bool
	}{
		"an owned output":           {output: pod(), want: true},
		"one that we deleted":       {output: pod(), ours: true},
		"one that is being deleted": {output: pod(deleting)},
		"an orphan":                 {output: pod(fixture.Orphan)},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Parent(), *test.output}
			h := newHarness(t, cached, cached)
			if test.ours {
				h.reconcile(t)
			}
			got := enqueued(func(q keyQueue) { send(h.outputEvents(h.spec.Outputs[0]), q, test.output, nil) })
			if slices.Contains(got, "p/") != test.want {
				t.Errorf("enqueued %v; a live list is wanted: %v", got, test.want)
			}
		})
	}
}

// Contract: MAP-1.
func TestRouteInputs(t *testing.T) {
	input := func(changes ...func(*corev1.Secret)) **corev1.Secret { return new(fixture.Input(changes...)) }
	unselected := func(s *corev1.Secret) { s.Labels = map[string]string{"app": "b"} }
	labeled := func(s *corev1.Secret) { s.Labels["x"] = "y" }
	anew := func(s *corev1.Secret) { s.UID = "new" }
	data := func(s *corev1.Secret) { s.Data = map[string][]byte{"a": nil} }
	owned := func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{fixture.OwnedBy("p", "p-uid")} }
	elsewhere := func(s *corev1.Secret) { s.Namespace = "other" }
	own := []string{"p/in-uid"}
	for name, test := range map[string]struct {
		before, after **corev1.Secret
		known         bool
		invalid       bool
		want          []string
	}{
		"created":                               {after: input(), want: own},
		"created, not selected":                 {after: input(unselected)},
		"created in another namespace":          {after: input(elsewhere)},
		"created, the spec is invalid":          {after: input(), invalid: true},
		"becomes selected":                      {before: input(unselected), after: input(), want: own},
		"becomes unselected":                    {before: input(), after: input(unselected), want: own},
		"changes unselected, with outputs":      {before: input(unselected), after: input(unselected, labeled), known: true, want: own},
		"changes unselected":                    {before: input(unselected), after: input(unselected, labeled)},
		"deleted":                               {before: input(), want: own},
		"deleted unselected, with outputs":      {before: input(unselected), known: true, want: own},
		"created again between two events":      {before: input(), after: input(anew), want: []string{"p/in-uid", "p/new"}},
		"a change that concerns no decision":    {before: input(), after: input(data)},
		"is being deleted":                      {before: input(), after: input(fixture.Deleting), want: own},
		"a parent takes control of it":          {before: input(), after: input(owned), want: own},
		"with outputs, while the spec is wrong": {before: input(), after: input(labeled), known: true, invalid: true, want: own},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, []client.Object{fixture.Parent()}, nil, func(c *MapController, _ *Options) {
				c.Inputs[0].Changed = func(_, _ client.Object) bool { return false }
			})
			if test.known {
				h.aggregator.Track(fixture.Parent(), []string{"in-uid"})
			}
			if test.invalid {
				h.invalid = context.Canceled
			}
			got := enqueued(func(q keyQueue) { send(h.inputEvents(h.spec.Inputs[0]), q, test.before, test.after) })
			if !slices.Equal(got, test.want) {
				t.Errorf("enqueued %v, want %v", got, test.want)
			}
		})
	}
	t.Run("every change counts by default", func(t *testing.T) {
		h := newHarness(t, []client.Object{fixture.Parent()}, nil)
		if got := enqueued(func(q keyQueue) { send(h.inputEvents(h.spec.Inputs[0]), q, input(), input(data)) }); !slices.Equal(got, own) {
			t.Errorf("enqueued %v", got)
		}
	})
}

func TestRouteParents(t *testing.T) {
	detached := fixture.Output("detached", fixture.Label(fixture.Tags.MapKey, "gone"))
	both, orphans := []string{"p/gone", "p/in-uid"}, []string{"p/in-uid"}
	annotated := func(p *appsv1.Deployment) { p.Annotations = map[string]string{"ours": "x"} }
	for name, test := range map[string]struct {
		change func(*appsv1.Deployment)
		want   []string
	}{
		"status":                          {change: func(p *appsv1.Deployment) { p.ResourceVersion = "2" }},
		"spec":                            {change: func(p *appsv1.Deployment) { p.Generation = 2 }, want: both},
		"created again":                   {change: func(p *appsv1.Deployment) { p.UID = "new" }, want: orphans},
		"being deleted":                   {change: fixture.Deleting[*appsv1.Deployment], want: both},
		"our annotations":                 {change: annotated, want: both},
		"spec, under the same generation": {change: func(p *appsv1.Deployment) { p.Spec.Paused = true }, want: both},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, []client.Object{fixture.Parent(), fixture.Input(), detached}, nil, func(c *MapController, _ *Options) {
				c.ParentChanged = func(before, after client.Object) bool {
					return before.GetAnnotations()["ours"] != after.GetAnnotations()["ours"]
				}
			})
			got := enqueued(func(q keyQueue) {
				send(h.parentEvents(), q, new(fixture.Parent()), new(fixture.Parent(test.change)))
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("enqueued %v, want %v", got, test.want)
			}
		})
	}
}

// An output whose map key was emptied while no event was handled, as under an
// invalid spec, is found with its parent, and is no key of its own.
func TestRouteParentsFindsEmptiedKeys(t *testing.T) {
	emptied := fixture.Output("emptied", fixture.Label(fixture.Tags.MapKey, ""))
	h := newHarness(t, []client.Object{fixture.Parent(), emptied}, nil)
	if got := enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, new(fixture.Parent())) }); !slices.Equal(got, []string{"p/"}) {
		t.Errorf("enqueued %v", got)
	}
	if _, err := h.Reconcile(t.Context(), plan.SearchOf(testKey.Parent)); err != nil || h.aggregator.Knows(plan.SearchOf(testKey.Parent)) {
		t.Errorf("the status waits for it, error %v", err)
	}
}

// The event of one object overtakes the keys of a parent that changed.
func TestFanOutHasLowPriority(t *testing.T) {
	h := newHarness(t, []client.Object{fixture.Parent(), fixture.Input()}, nil)
	q := priorityqueue.New[Request]("test")
	defer q.ShutDown()
	send(h.parentEvents(), q, nil, new(fixture.Parent()))
	send(h.inputEvents(h.spec.Inputs[0]), q, nil, new(fixture.Input(func(s *corev1.Secret) { s.UID = "one" })))
	for _, want := range []string{"one", "in-uid"} {
		if req, priority, _ := q.GetWithPriority(); req.MapKey != want || (priority < 0) != (want == "in-uid") {
			t.Errorf("got %v at priority %d, want %s", req, priority, want)
		}
	}
}

// A pass that was under way when a parent was deleted may leave something
// behind. What is enqueued later removes it.
func TestParentDeletedIsCalled(t *testing.T) {
	key := func(h *harness) error {
		_, err := h.Reconcile(context.Background(), testKey)
		return err
	}
	status := func(h *harness) error {
		_, err := h.ReconcileStatus(context.Background(), reconcile.Request{NamespacedName: testKey.Parent})
		return err
	}
	event := func(h *harness) error {
		enqueued(func(q keyQueue) { send(h.parentEvents(), q, new(fixture.Parent()), nil) })
		return nil
	}
	for name, test := range map[string]struct {
		by     func(*harness) error
		cached []client.Object
		want   bool
		// wantKeys is set if the keys stay known: a pass that finds no parent may be
		// late, and the next parent of the name may be tracked already.
		wantKeys bool
	}{
		"by the event":                   {by: event, want: true},
		"by a key":                       {by: key, want: true, wantKeys: true},
		"by a status":                    {by: status, want: true, wantKeys: true},
		"not by a key of a parent":       {by: key, cached: []client.Object{fixture.Parent()}},
		"not by the status of a parent":  {by: status, cached: []client.Object{fixture.Parent()}},
		"by the status of a deleted one": {by: status, cached: []client.Object{deletingParent()}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			h := newHarness(t, test.cached, test.cached, func(c *MapController, _ *Options) {
				c.ParentDeleted = func(parent types.NamespacedName) { called = called || parent == testKey.Parent }
			})
			h.aggregator.Track(fixture.Parent(), []string{"in-uid"})
			if err := test.by(h); err != nil || called != test.want {
				t.Errorf("called: %v, want %v; error %v", called, test.want, err)
			}
			if knows := h.aggregator.Knows(testKey); test.want && knows != test.wantKeys {
				t.Errorf("its keys are known: %v, want %v", knows, test.wantKeys)
			}
		})
	}
}

func BenchmarkRouteInput(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var parents []client.Object
			for i := range n {
				parents = append(parents, fixture.Parent(func(p *appsv1.Deployment) {
					p.Name, p.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("uid", i))
					p.Spec.Selector.MatchLabels = map[string]string{"app": fmt.Sprint(i)}
				}))
			}
			h := newHarness(b, parents, nil)
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[Request]())
			defer q.ShutDown()
			handler, created := h.inputEvents(h.spec.Inputs[0]), event.TypedCreateEvent[client.Object]{Object: fixture.Input()}
			b.ReportAllocs()
			for b.Loop() {
				handler.Create(b.Context(), created, q)
			}
		})
	}
}

// What lost its map key leaves the cache, and is still its parent's until it is released. No status counts
// without it.
//
// Contract: STAT-12.
func TestStatusWaitsForWhatLostItsMapKey(t *testing.T) {
	out := fixture.Output("out")
	for name, send := range map[string]func(*harness, keyQueue){
		"removed": func(h *harness, q keyQueue) { send(h.outputEvents(h.spec.Outputs[0]), q, &out, nil) },
		"emptied": func(h *harness, q keyQueue) {
			send(h.outputEvents(h.spec.Outputs[0]), q, &out, new(fixture.Output("out", fixture.Label(fixture.Tags.MapKey, ""), func(o *corev1.Pod) { o.ResourceVersion = "2" })))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, []client.Object{fixture.Parent()}, nil)
			h.aggregator.Track(fixture.Parent(), nil)
			untagged := plan.SearchOf(testKey.Parent)
			got := enqueued(func(q keyQueue) { send(h, q) })
			if !slices.Contains(got, "p/") || !h.aggregator.Knows(untagged) || h.aggregator.Settled(fixture.Parent()) {
				t.Errorf("enqueued %v, known %v", got, h.aggregator.Knows(untagged))
			}
			if _, err := h.Reconcile(t.Context(), untagged); err != nil || h.aggregator.Knows(untagged) || !h.aggregator.Settled(fixture.Parent()) {
				t.Errorf("still waited for, error %v", err)
			}
		})
	}
}
