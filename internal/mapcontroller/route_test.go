// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func (b *bench) router() *router[*corev1.ConfigMap, string] {
	return &router[*corev1.ConfigMap, string]{controller: b.testController, parentKind: corev1.SchemeGroupVersion.WithKind("ConfigMap")}
}

// awoken returns the keys that an event woke, as parent/key.
func awoken(t *testing.T, do func(queue)) []string {
	t.Helper()
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

func TestOwner(t *testing.T) {
	refs := func(refs ...metav1.OwnerReference) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.OwnerReferences = refs }
	}
	ref := func(apiVersion, kind string) metav1.OwnerReference {
		r := ownedBy("q", "q-uid")
		r.APIVersion, r.Kind = apiVersion, kind
		return r
	}
	for name, test := range map[string]struct {
		change    func(*corev1.Pod)
		want      string
		wantOwned bool
	}{
		"of the parent that controls it":      {change: refs(ownedBy("q", "q-uid")), want: "q/in-uid", wantOwned: true},
		"of one of another version":           {change: refs(ref("v2", "ConfigMap")), want: "q/in-uid", wantOwned: true},
		"an orphan, of the parent it names":   {change: refs(), want: "p/in-uid"},
		"of another kind":                     {change: refs(ref("v1", "Service")), want: "/"},
		"of a kind of another group":          {change: refs(ref("x.test/v1", "ConfigMap")), want: "/"},
		"an orphan that names nobody":         {change: func(o *corev1.Pod) { o.OwnerReferences, o.Labels = nil, nil }, want: "/"},
		"with an owner of no right":           {change: refs(ref("a/b/c", "ConfigMap")), want: "/"},
		"ours, the map key taken off":         {change: func(o *corev1.Pod) { delete(o.Labels, testTags.MapKey) }, want: "p/", wantOwned: true},
		"ours, named as another's, for now":   {change: func(o *corev1.Pod) { o.Labels[testTags.Parent] = "q" }, want: "p/in-uid", wantOwned: true},
		"with an owner that does not control": {change: func(o *corev1.Pod) { o.OwnerReferences[0].Controller = nil }, want: "p/in-uid"},
	} {
		t.Run(name, func(t *testing.T) {
			req, owned := newBench(t, nil, nil).router().owner(testOutput("out", test.change))
			if got := req.Parent.Name + "/" + req.MapKey; got != test.want || owned != test.wantOwned {
				t.Errorf("got %s, owned %v; want %s, %v", got, owned, test.want, test.wantOwned)
			}
		})
	}
}

func TestRouteOutputs(t *testing.T) {
	orphan := func(o *corev1.Pod) { o.OwnerReferences = nil }
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          []string
	}{
		"created":           {after: testOutput("o"), want: []string{"p/in-uid"}},
		"changed":           {before: testOutput("o"), after: testOutput("o"), want: []string{"p/in-uid"}},
		"deleted":           {before: testOutput("o"), want: []string{"p/in-uid"}},
		"an orphan appears": {after: testOutput("o", orphan), want: []string{"p/in-uid"}},
		// Nobody cares when an orphan disappears.
		"an orphan is deleted": {before: testOutput("o", orphan)},
		"its controller is taken off": {
			before: testOutput("o"), after: testOutput("o", orphan), want: []string{"p/in-uid"},
		},
		"it goes over to another": {
			before: testOutput("o"),
			after:  testOutput("o", func(o *corev1.Pod) { o.OwnerReferences[0] = ownedBy("q", "q-uid") }),
			want:   []string{"p/in-uid", "q/in-uid"},
		},
		"it goes over to another key": {
			before: testOutput("o"),
			after:  testOutput("o", func(o *corev1.Pod) { o.Labels[testTags.MapKey] = "other" }),
			want:   []string{"p/in-uid", "p/other"},
		},
		"another kind takes it": {
			before: testOutput("o"),
			after:  testOutput("o", func(o *corev1.Pod) { o.OwnerReferences[0].Kind = "Service" }),
			want:   []string{"p/in-uid"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newBench(t, nil, nil).router().outputs(Output{})
			got := awoken(t, func(q queue) {
				switch {
				case test.before == nil:
					h.Create(context.Background(), event.TypedCreateEvent[client.Object]{Object: test.after}, q)
				case test.after == nil:
					h.Delete(context.Background(), event.TypedDeleteEvent[client.Object]{Object: test.before}, q)
				default:
					h.Update(context.Background(), event.TypedUpdateEvent[client.Object]{ObjectOld: test.before, ObjectNew: test.after}, q)
				}
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("woke %v, want %v", got, test.want)
			}
		})
	}
}

// Contract: MAP-1.
func TestRouteInputs(t *testing.T) {
	unselected := func(s *corev1.Secret) { s.Labels = map[string]string{"app": "b"} }
	for name, test := range map[string]struct {
		before, after *corev1.Secret
		known         bool
		want          []string
	}{
		"created":                          {after: testInput(), want: []string{"p/in-uid"}},
		"created, not selected":            {after: testInput(unselected)},
		"moves in":                         {before: testInput(unselected), after: testInput(), want: []string{"p/in-uid"}},
		"moves out":                        {before: testInput(), after: testInput(unselected), want: []string{"p/in-uid"}},
		"changes outside, and has outputs": {before: testInput(unselected), after: testInput(unselected, func(s *corev1.Secret) { s.Labels["x"] = "y" }), known: true, want: []string{"p/in-uid"}},
		"changes outside":                  {before: testInput(unselected), after: testInput(unselected, func(s *corev1.Secret) { s.Labels["x"] = "y" })},
		"deleted":                          {before: testInput(), want: []string{"p/in-uid"}},
		"deleted outside, and has outputs": {before: testInput(unselected), known: true, want: []string{"p/in-uid"}},
		"made anew between two looks":      {before: testInput(), after: testInput(func(s *corev1.Secret) { s.UID = "new" }), want: []string{"p/in-uid", "p/new"}},
		"a change that says nothing":       {before: testInput(), after: testInput(func(s *corev1.Secret) { s.Data = map[string][]byte{"a": nil} })},
		"is being deleted":                 {before: testInput(), after: testInput(func(s *corev1.Secret) { s.DeletionTimestamp = &metav1.Time{Time: testNow} }), want: []string{"p/in-uid"}},
		"a parent takes control of it":     {before: testInput(), after: testInput(func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{ownedBy("p", "p-uid")} }), want: []string{"p/in-uid"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, []client.Object{testParent()}, nil)
			b.Inputs[0].Changed = func(_, _ client.Object) bool { return false }
			if test.known {
				b.ledger.open(testKey.Parent, "p-uid", []string{"in-uid"})
			}
			h := b.router().inputs(b.Inputs[0])
			got := awoken(t, func(q queue) {
				switch {
				case test.before == nil:
					h.Create(context.Background(), event.TypedCreateEvent[client.Object]{Object: test.after}, q)
				case test.after == nil:
					h.Delete(context.Background(), event.TypedDeleteEvent[client.Object]{Object: test.before}, q)
				default:
					h.Update(context.Background(), event.TypedUpdateEvent[client.Object]{ObjectOld: test.before, ObjectNew: test.after}, q)
				}
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("woke %v, want %v", got, test.want)
			}
		})
	}
}

func TestRouteParents(t *testing.T) {
	parent := testParent()
	shown := []client.Object{parent, testInput(), testOutput("detached", func(o *corev1.Pod) { o.Labels[testTags.MapKey] = "gone" })}
	for name, test := range map[string]struct {
		after func(*corev1.ConfigMap)
		want  []string
	}{
		"status":        {after: func(p *corev1.ConfigMap) { p.ResourceVersion = "2" }},
		"spec":          {after: func(p *corev1.ConfigMap) { p.Generation = 2 }, want: []string{"p/gone", "p/in-uid"}},
		"made anew":     {after: func(p *corev1.ConfigMap) { p.UID = "new" }, want: []string{"p/in-uid"}},
		"being deleted": {after: func(p *corev1.ConfigMap) { p.DeletionTimestamp = &metav1.Time{Time: testNow} }, want: []string{"p/gone", "p/in-uid"}},
		"its own":       {after: func(p *corev1.ConfigMap) { p.Annotations = map[string]string{"ours": "x"} }, want: []string{"p/gone", "p/in-uid"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, shown, nil)
			b.ParentChanged = func(before, after *corev1.ConfigMap) bool {
				return before.Annotations["ours"] != after.Annotations["ours"]
			}
			after := testParent(test.after)
			got := awoken(t, func(q queue) {
				b.router().parents().Update(context.Background(), event.TypedUpdateEvent[client.Object]{ObjectOld: parent, ObjectNew: after}, q)
			})
			if !slices.Equal(got, test.want) {
				t.Errorf("woke %v, want %v", got, test.want)
			}
		})
	}
}

// An output whose map key was emptied while nobody looked, as under an invalid
// spec, is found again with its parent, and is no key of its own.
func TestRouteParentsFindsEmptiedKeys(t *testing.T) {
	emptied := testOutput("emptied", func(o *corev1.Pod) { o.Labels[testTags.MapKey] = "" })
	b := newBench(t, []client.Object{testParent(), emptied}, nil)
	got := awoken(t, func(q queue) {
		b.router().parents().Create(context.Background(), event.TypedCreateEvent[client.Object]{Object: testParent()}, q)
	})
	if !slices.Equal(got, []string{"p/"}) {
		t.Errorf("woke %v", got)
	}
	if _, _, settled, ok := b.ledger.read(testKey.Parent, testParent().UID, 0); !ok || !settled {
		t.Errorf("the ledger waits for it: settled %v, known %v", settled, ok)
	}
}

func TestRouteParentsTellsOfAParentThatIsGone(t *testing.T) {
	b := newBench(t, nil, nil)
	var gone types.NamespacedName
	b.Gone = func(parent types.NamespacedName) { gone = parent }
	awoken(t, func(q queue) {
		b.router().parents().Delete(context.Background(), event.TypedDeleteEvent[client.Object]{Object: testParent()}, q)
	})
	if gone != testKey.Parent {
		t.Errorf("told of %v", gone)
	}
}

// Metrics are made of what is seen to change, and of what is a parent's.
func TestRouteOutputsTellsOfUpdates(t *testing.T) {
	free := func(o *corev1.Pod) { o.OwnerReferences = nil }
	for name, test := range map[string]struct {
		before, after *corev1.Pod
		want          []types.NamespacedName
	}{
		"there from the beginning": {after: testOutput("o")},
		"changes":                  {before: testOutput("o"), after: testOutput("o"), want: []types.NamespacedName{testKey.Parent}},
		"goes":                     {before: testOutput("o")},
		"is released":              {before: testOutput("o"), after: testOutput("o", free)},
		"is nobody's":              {before: testOutput("o", free), after: testOutput("o", free)},
	} {
		t.Run(name, func(t *testing.T) {
			var told []types.NamespacedName
			h := newBench(t, nil, nil).router().outputs(Output{Updated: func(parent types.NamespacedName, before, after client.Object) {
				if before != test.before || after != test.after {
					t.Errorf("told of another change")
				}
				told = append(told, parent)
			}})
			awoken(t, func(q queue) {
				switch {
				case test.before == nil:
					h.Create(context.Background(), event.TypedCreateEvent[client.Object]{Object: test.after, IsInInitialList: true}, q)
				case test.after == nil:
					h.Delete(context.Background(), event.TypedDeleteEvent[client.Object]{Object: test.before}, q)
				default:
					h.Update(context.Background(), event.TypedUpdateEvent[client.Object]{ObjectOld: test.before, ObjectNew: test.after}, q)
				}
			})
			if !slices.Equal(told, test.want) {
				t.Errorf("told of parents %v, want %v", told, test.want)
			}
		})
	}
}

// A pass, or a status, that was under way when the event of the parent came may
// leave something behind. What wakes it afterwards makes an end of that.
func TestGoneIsToldAgain(t *testing.T) {
	for name, look := range map[string]func(*bench) error{
		"by a key": func(b *bench) error {
			_, err := b.Reconcile(context.Background(), testKey)
			return err
		},
		"by the status": func(b *bench) error {
			_, err := b.statusWriter().Reconcile(context.Background(), reconcile.Request{NamespacedName: testKey.Parent})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, there := range []bool{true, false} {
				var shown []client.Object
				if there {
					shown = append(shown, testParent())
				}
				b := newBench(t, shown, shown)
				told := false
				b.Gone = func(parent types.NamespacedName) { told = told || parent == testKey.Parent }
				if err := look(b); err != nil || told == there {
					t.Errorf("%v; it is there: %v, told that it is gone: %v", err, there, told)
				}
			}
		})
	}
}

// A parent under deletion may stay for long, held by someone's finalizer.
func TestGoneIsToldOfAParentUnderDeletion(t *testing.T) {
	going := testParent(func(p *corev1.ConfigMap) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: testNow}, []string{"example.com/slow"}
	})
	b := newBench(t, []client.Object{going}, []client.Object{going})
	told := false
	b.Gone = func(parent types.NamespacedName) { told = parent == testKey.Parent }
	if _, err := b.statusWriter().Reconcile(context.Background(), reconcile.Request{NamespacedName: testKey.Parent}); err != nil || !told {
		t.Errorf("told: %v, error %v", told, err)
	}
}

func BenchmarkRouteInput(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var parents []client.Object
			for i := range n {
				parents = append(parents, testParent(func(p *corev1.ConfigMap) {
					p.Name, p.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("uid", i))
					p.Data = map[string]string{"app": fmt.Sprint(i)}
				}))
			}
			r := newBench(b, parents, nil).router()
			q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[Request]())
			defer q.ShutDown()
			in := testInput()
			b.ReportAllocs()
			for b.Loop() {
				r.routeInput(context.Background(), q, in)
			}
		})
	}
}
