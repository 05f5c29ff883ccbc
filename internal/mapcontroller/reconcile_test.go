// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/queue"
)

// The outputs of a parent that is being deleted, or is invalid, are left alone.
func TestReconcileLeavesOutputsAlone(t *testing.T) {
	for name, test := range map[string]struct {
		parent  *appsv1.Deployment
		invalid error
		want    []string
	}{
		"not of a valid parent":         {parent: fixture.Parent(), want: []string{"in"}},
		"of one that is being deleted":  {parent: deletingParent(), want: []string{"old"}},
		"of one whose spec is invalid":  {parent: fixture.Parent(), invalid: errors.New("invalid"), want: []string{"old"}},
		"of one that is not in a cache": {want: []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			cached := []client.Object{fixture.Input(), fixture.Output("old")}
			stored := append(slices.Clone(cached), fixture.Parent()) // the API server would not refuse
			if test.parent != nil {
				cached = append(cached, test.parent)
			}
			h := newHarness(t, cached, stored)
			h.invalid = test.invalid
			h.reconcile(t)
			if got := h.api.Pods(t); !slices.Equal(got, test.want) {
				t.Errorf("left %v, want %v", got, test.want)
			}
		})
	}
}

// A user who empties the map key releases the output.
func TestReconcileReleasesOutputsWithAnEmptiedKey(t *testing.T) {
	for name, invalid := range map[string]error{"valid spec": nil, "invalid spec": errors.New("invalid")} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Output("out", fixture.Label(fixture.Tags.MapKey, "")), fixture.Parent()}
			h := newHarness(t, all, all)
			h.invalid = invalid
			result, err := h.Reconcile(t.Context(), plan.SearchOf(testKey.Parent))
			if err != nil || result.RequeueAfter != 0 || len(h.api.Pod(t, "out").OwnerReferences) != 0 {
				t.Errorf("requeued after %s, owners %v, error %v", result.RequeueAfter, h.api.Pod(t, "out").OwnerReferences, err)
			}
		})
	}
}

// A key is not reconciled until the cache shows what was last written for it. If
// it never does, the name keeps a second output from being created.
func TestReconcileWaitsForTheCache(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	h.aggregator.Track(fixture.Parent(), nil)
	const timeout = 10 * time.Second
	for _, step := range []struct {
		after       time.Duration
		want        time.Duration
		wantCreates int
	}{
		{0, queue.LongestDelay, 1},
		{time.Second, timeout - time.Second, 1},
		{timeout, queue.LongestDelay, 2},
		{timeout, queue.LongestDelay, 3}, // the name is taken by our own: nothing is expected
	} {
		h.clock.SetTime(fixture.Now.Add(step.after))
		if got := h.reconcile(t); got != step.want || h.api.Count("create") != step.wantCreates {
			t.Errorf("after %s: %s, %d creates; want %+v", step.after, got, h.api.Count("create"), step)
		}
	}
	if got := h.api.Pods(t); !slices.Equal(got, []string{"in"}) {
		t.Errorf("left %v", got)
	}
}

func TestReconcileForgetsTheKeysOfADeletedParent(t *testing.T) {
	for name, cached := range map[string][]client.Object{"gone": nil, "being deleted": {deletingParent()}} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, []client.Object{fixture.Parent(), fixture.Input()}, nil)
			h.reconcile(t)
			if h.attempts.Expects(testKey) == 0 {
				t.Fatal("the key has no state")
			}
			after := newHarness(t, cached, nil)
			after.executor.Attempts = h.executor.Attempts
			after.reconcile(t)
			if h.attempts.Expects(testKey) != 0 {
				t.Error("the key has state")
			}
		})
	}
}

// A key without inputs and outputs is not requeued, and not known any more.
func TestReconcileEndsWithTheKey(t *testing.T) {
	h := newHarness(t, []client.Object{fixture.Parent()}, nil)
	h.aggregator.Track(fixture.Parent(), []string{testKey.MapKey})
	if got := h.reconcile(t); got != 0 || h.aggregator.Knows(testKey) {
		t.Errorf("requeued after %s, known: %v", got, h.aggregator.Knows(testKey))
	}
}

func TestReconcileReports(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	type report struct{ previous, decided any }
	var reports []report
	var outcome Outcome
	h := newHarness(t, all, all, func(c *MapController, _ *Options) {
		c.Status.OfKey = func(_ client.Object, mapKey string, previous, decided any, o Outcome) any {
			reports = append(reports, report{previous, decided})
			outcome = o
			return mapKey + "'s status"
		}
	})
	decide := h.program.Map
	h.program.Map = func(seen Observation) Decision {
		d := decide(seen)
		d.Status = "decided"
		return d
	}
	h.aggregator.Track(fixture.Parent(), nil)
	h.reconcile(t)
	if len(outcome.Created) != 1 {
		t.Errorf("outcome %+v", outcome)
	}
	h.clock.SetTime(fixture.Now.Add(time.Minute))
	h.reconcile(t)
	if want := []report{{nil, "decided"}, {"in-uid's status", "decided"}}; !slices.Equal(reports, want) {
		t.Errorf("got %v, want %v", reports, want)
	}
	// A key of an invalid parent is reported without a decision: what the earlier one
	// said may not be so under this spec.
	h.invalid = errors.New("invalid")
	h.compiledAgain()
	h.reconcile(t)
	if len(reports) != 3 || reports[2] != (report{"in-uid's status", nil}) {
		t.Errorf("reports %v", reports)
	}
}

// A decision that panics keeps neither the status of its parent from being written, nor another key from its output. It is
// retried with backoff.
//
// Contract: STAT-9.
func TestADecisionThatPanicsIsAnErrorOfItsKey(t *testing.T) {
	bad := fixture.Input(func(s *corev1.Secret) { s.Name, s.UID = "bad", "bad-uid" })
	all := []client.Object{fixture.Parent(), fixture.Input(), bad}
	var failed error
	h := newHarness(t, all, all, func(c *MapController, _ *Options) {
		c.Status.OfKey = func(_ client.Object, mapKey string, _, decided any, o Outcome) any {
			if mapKey == "bad-uid" {
				failed = o.Err
			}
			return decided
		}
	})
	decide := h.program.Map
	h.program.Map = func(seen Observation) Decision {
		if seen.Selected[0].GetName() == "bad" {
			panic("odd input")
		}
		return decide(seen)
	}
	h.aggregator.Track(fixture.Parent(), []string{testKey.MapKey, "bad-uid"})
	h.reconcile(t)
	badKey := Request{Parent: testKey.Parent, MapKey: "bad-uid"}
	var delays []time.Duration
	for range 3 {
		if _, err := h.Reconcile(t.Context(), badKey); err == nil || !strings.Contains(err.Error(), "odd input") {
			t.Fatalf("error %v", err)
		}
		delays = append(delays, h.attempts.When(badKey))
		h.clock.SetTime(h.clock.Now().Add(delays[len(delays)-1]))
	}
	if delays[0] >= delays[1] || delays[1] >= delays[2] {
		t.Errorf("retried after %v", delays)
	}
	if panicked := (*PanicError)(nil); !errors.As(failed, &panicked) {
		t.Errorf("reported %v", failed)
	}
	if !h.aggregator.Settled(fixture.Parent()) || !slices.Equal(h.api.Pods(t), []string{"in"}) {
		t.Errorf("settled %v, pods %v", h.aggregator.Settled(fixture.Parent()), h.api.Pods(t))
	}
}

// compiledAgain drops the compiled specs.
func (h *harness) compiledAgain() { h.programs.Clear() }

func TestReconcilePassesOnRelatedObjects(t *testing.T) {
	related := []client.Object{fixture.Output("related")}
	h := newHarness(t, []client.Object{fixture.Parent(), fixture.Input()}, nil, func(c *MapController, _ *Options) {
		c.Related.Objects = func(parent client.Object, _ Observation) []client.Object {
			if parent.GetName() != "p" {
				t.Errorf("of %s", parent.GetName())
			}
			return related
		}
	})
	var got []client.Object
	h.program.Map = func(seen Observation) Decision {
		got = seen.Related
		return Decision{}
	}
	h.reconcile(t)
	if !slices.Equal(got, related) {
		t.Errorf("got %v", fixture.Names(got))
	}
}

// A cluster-scoped parent has outputs in several namespaces: here a Namespace,
// which maps the Secrets of all namespaces.
func TestReconcileClusterScopedParent(t *testing.T) {
	parent := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p-uid", ResourceVersion: "999"}}
	var objects []client.Object
	for _, namespace := range []string{"one", "two"} {
		in := fixture.Input(func(s *corev1.Secret) { s.Namespace = namespace })
		stale := fixture.Output("stale")
		stale.Namespace, stale.OwnerReferences[0].APIVersion, stale.OwnerReferences[0].Kind = namespace, "v1", "Namespace"
		objects = append(objects, in, stale)
	}
	cached := append([]client.Object{parent}, objects...)
	h := newHarness(t, cached, cached, func(c *MapController, _ *Options) {
		c.ClusterScoped = true
		c.NewParent = func() client.Object { return &corev1.Namespace{} }
	})
	h.program.Map = func(seen Observation) Decision {
		d := Decision{Delete: fixture.DeleteAllBut(seen.Outputs)}
		for _, in := range seen.Selected {
			d.Ensure = append(d.Ensure, Desired{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: in.GetNamespace(), Name: "in"}}})
		}
		return d
	}
	req := Request{MapKey: testKey.MapKey}
	req.Parent.Name = "p"
	got := enqueued(func(q keyQueue) { send(h.inputEvents(h.spec.Inputs[0]), q, nil, new(objects[0])) })
	if !slices.Equal(got, []string{"p/in-uid"}) {
		t.Errorf("enqueued %v", got)
	}
	if _, err := h.Reconcile(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	var pods corev1.PodList
	if err := h.api.Stored.List(context.Background(), &pods); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	slices.Sort(names)
	if want := []string{"one/in", "two/in"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

// The cost of a pass does not depend on how many other objects there are.
func TestReconcileAllocationsDoNotGrow(t *testing.T) {
	allocations := func(others int) float64 {
		cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in")}
		for i := range others {
			name := "other-" + time.Duration(i).String()
			cached = append(cached, fixture.Output(name, fixture.Label(fixture.Tags.MapKey, name)))
		}
		h := newHarness(t, cached, nil)
		h.aggregator.Track(fixture.Parent(), nil)
		return testing.AllocsPerRun(100, func() {
			if _, err := h.Reconcile(context.Background(), testKey); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := allocations(1), allocations(5000); many > few+1 {
		t.Errorf("%v allocations among many objects, %v among few", many, few)
	}
}

// Contract: OWN-4.
func TestReconcileReleasesOutputsWithoutAKey(t *testing.T) {
	noKey := func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) }
	elsewhere := func(o *corev1.Pod) { o.Namespace = "other" }
	service := fixture.Owners(metav1.OwnerReference{APIVersion: "v1", Kind: "Service", Name: "p", UID: "p-uid-2", Controller: new(true)})
	released := plan.SearchOf(testKey.Parent)
	for name, test := range map[string]struct {
		output  []func(*corev1.Pod)
		parent  func(*appsv1.Deployment)
		invalid error
		fail    string
		want    bool
		wantErr bool
	}{
		"without a map key":           {output: []func(*corev1.Pod){noKey}, want: true},
		"while the spec is invalid":   {output: []func(*corev1.Pod){noKey}, invalid: errors.New("invalid"), want: true},
		"with a map key":              {},
		"in another namespace":        {output: []func(*corev1.Pod){noKey, elsewhere}},
		"controlled by another kind":  {output: []func(*corev1.Pod){noKey, service}},
		"controlled by nothing":       {output: []func(*corev1.Pod){noKey, fixture.Orphan}},
		"of a parent of another UID":  {output: []func(*corev1.Pod){noKey}, parent: func(p *appsv1.Deployment) { p.UID = "new" }},
		"the parent is being deleted": {output: []func(*corev1.Pod){noKey}, parent: fixture.Deleting[*appsv1.Deployment]},
		"the list fails":              {output: []func(*corev1.Pod){noKey}, fail: "list", wantErr: true},
		"the release is denied":       {output: []func(*corev1.Pod){noKey}, fail: "patch", wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			parent, o := fixture.Parent(), fixture.Output("a", test.output...)
			if test.parent != nil {
				test.parent(parent)
			}
			h := newHarness(t, []client.Object{parent}, []client.Object{parent, o})
			h.invalid = test.invalid
			h.api.Fail(errors.New("unavailable"), test.fail)
			if _, err := h.Reconcile(t.Context(), released); (err != nil) != test.wantErr {
				t.Errorf("error %v", err)
			}
			var got corev1.Pod
			if err := h.api.Stored.Get(t.Context(), client.ObjectKeyFromObject(o), &got); err != nil {
				t.Fatal(err)
			}
			if wasReleased := len(got.OwnerReferences) < len(o.OwnerReferences); wasReleased != test.want {
				t.Errorf("owners %v, released: %v, want %v", got.OwnerReferences, wasReleased, test.want)
			}
		})
	}
}

// A cache that lags may not have the parent yet when an output without a key is found.
func TestReconcileAwaitsTheParentOfAReleasedOutput(t *testing.T) {
	o := fixture.Output("a", func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) })
	for name, test := range map[string]struct {
		stored []client.Object
		want   time.Duration
	}{
		"it exists":  {stored: []client.Object{fixture.Parent(), o}, want: time.Second},
		"it is gone": {stored: []client.Object{o}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, test.stored)
			result, err := h.Reconcile(t.Context(), plan.SearchOf(testKey.Parent))
			if err != nil || result.RequeueAfter != test.want || h.api.Count("patch") > 0 {
				t.Errorf("got %+v, %v", result, err)
			}
		})
	}
}

// Outputs that lost their map key while no manager ran are found at the start.
func TestReconcileSearchesForReleasedOutputs(t *testing.T) {
	noKey := func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) }
	named := func(name string) func(*corev1.Pod) { return fixture.Owners(fixture.OwnedBy(name, "uid")) }
	elsewhere := func(o *corev1.Pod) { o.Namespace = "other" }
	stored := []client.Object{
		fixture.Output("a", noKey), fixture.Output("b", noKey, named("q")), fixture.Output("c", named("r")),
		fixture.Output("d", noKey, named("s"), elsewhere), fixture.Output("e", noKey, fixture.Orphan),
	}
	for name, test := range map[string]struct {
		namespaces []string
		want       []string
	}{
		"everywhere":            {want: []string{"p/", "q/", "s/"}},
		"in the namespaces set": {namespaces: []string{"ns"}, want: []string{"p/", "q/"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, nil, stored, func(_ *MapController, o *Options) { o.Namespaces = test.namespaces })
			got := enqueued(func(q keyQueue) {
				if err := h.keySource(t.Context(), atOnce{q}); err != nil {
					t.Fatal(err)
				}
				req, _ := q.Get()
				if _, err := h.Reconcile(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				q.Done(req)
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("enqueued %v, want %v", got, test.want)
			}
		})
	}
}

// After a list of outputs, events may be missing: a snapshot that was created and
// released in between was never in the cache.
func TestReconcileSearchesAgainAfterAList(t *testing.T) {
	h := newHarness(t, nil, nil)
	got := enqueued(func(q keyQueue) {
		if err := h.keySource(t.Context(), atOnce{q}); err != nil {
			t.Fatal(err)
		}
		req, _ := q.Get()
		q.Done(req)
		h.options.Stores.Listed(&corev1.Secret{}, nil)
		if q.Len() != 0 {
			t.Error("a list of inputs starts a search")
		}
		h.options.Stores.Listed(&corev1.Pod{}, nil)
	})
	if !slices.Equal(got, []string{"/"}) {
		t.Errorf("enqueued %v", got)
	}
}

// A list that finds the definition of a kind deleted starts a check: with nothing
// to write, nothing else would notice.
//
// Contract: STAT-6.
func TestListOfAMissingKindIsSuspicious(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"listed":     {nil, false},
		"no such":    {apierrors.NewNotFound(schema.GroupResource{}, ""), true},
		"unanswered": {apierrors.NewServiceUnavailable("later"), false},
	} {
		h := newHarness(t, nil, nil)
		got := enqueued(func(q keyQueue) {
			if err := h.keySource(t.Context(), atOnce{q}); err != nil {
				t.Fatal(err)
			}
			req, _ := q.Get()
			q.Done(req)
			h.options.Stores.Listed(&corev1.Pod{}, test.err)
		})
		if suspected := len(h.installed.Suspected) > 0; suspected != test.want || (len(got) > 0) != (test.err == nil) {
			t.Errorf("%s: a check is asked for: %v; enqueued %v", name, suspected, got)
		}
	}
}

// atOnce adds without delay.
type atOnce struct{ keyQueue }

func (q atOnce) AddAfter(req Request, _ time.Duration) { q.Add(req) }
