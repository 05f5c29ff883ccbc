// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var podsResource = schema.GroupResource{Resource: "pods"}

// What Map returns may share maps and pointers with the cache.
func TestCreateLeavesWhatMapReturnedAlone(t *testing.T) {
	b := newBench(t, nil, nil)
	shared := map[string]string{"app": "a"}
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "out", Labels: shared}}
	if err := b.writer(testParent()).create(context.Background(), want); err != nil {
		t.Fatal(err)
	}
	if len(shared) != 1 || want.ResourceVersion != "" || want.OwnerReferences != nil {
		t.Errorf("changed: %v", want.ObjectMeta)
	}
}

// Contract: MAP-3.
func TestCreateTags(t *testing.T) {
	b := newBench(t, nil, nil)
	w := b.writer(testParent())
	if err := w.create(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "out"}}); err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := b.real.Get(context.Background(), client.ObjectKey{Namespace: "ns", Name: "out"}, &got); err != nil {
		t.Fatal(err)
	}
	if got.Labels[testTags.MapKey] != testKey.MapKey || got.Labels[testTags.Parent] != "p" {
		t.Errorf("labels: %v", got.Labels)
	}
	ref := metav1.GetControllerOf(&got)
	if ref == nil || ref.UID != "p-uid" || ref.BlockOwnerDeletion == nil || !*ref.BlockOwnerDeletion {
		t.Errorf("controllerRef: %v", ref)
	}
	if len(w.outcome.Created) != 1 {
		t.Errorf("outcome: %v", w.outcome)
	}
}

// Contract: MAP-8, MAP-10.
func TestCreateWhereTheNameIsTaken(t *testing.T) {
	label := func(key, value string) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.Labels[key] = value }
	}
	owner := func(refs ...metav1.OwnerReference) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.OwnerReferences = refs }
	}
	for name, test := range map[string]struct {
		existing []func(*corev1.Pod)
		served   bool
		want     error
	}{
		"ours": {},
		"ours, being deleted": {
			existing: []func(*corev1.Pod){func(o *corev1.Pod) {
				o.DeletionTimestamp, o.Finalizers = &metav1.Time{Time: testNow}, []string{"test/wait"}
			}},
			want: errTerminating,
		},
		"ours, of another key":       {existing: []func(*corev1.Pod){label(testTags.MapKey, "other")}, want: ErrNameCollision},
		"ours, about to be released": {existing: []func(*corev1.Pod){label(testTags.MapKey, "")}, want: errReleasing},
		"nobody's":                   {existing: []func(*corev1.Pod){owner()}, want: ErrNameCollision},
		"nobody's, but it serves":    {existing: []func(*corev1.Pod){owner()}, served: true},
		"another's": {
			existing: []func(*corev1.Pod){owner(ownedBy("q", "q-uid"))}, want: ErrNameCollision,
		},
		"another's, and it would serve": {
			existing: []func(*corev1.Pod){owner(ownedBy("q", "q-uid"))}, served: true, want: ErrNameCollision,
		},
		"of a parent that had our name before us": {
			existing: []func(*corev1.Pod){owner(ownedBy("p", "old-uid"))}, want: ErrNameCollision,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, []client.Object{testOutput("out", test.existing...)})
			b.Outputs[0].Served = func(_, _ client.Object) bool { return test.served }
			err := b.writer(testParent()).create(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "out"}})
			if !errors.Is(err, test.want) || (test.want == nil && err != nil) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// What came too late is looked at again; it is no failure to tell of.
func TestFailed(t *testing.T) {
	for name, test := range map[string]struct {
		err        error
		wantFailed bool
	}{
		"refused":     {err: apierrors.NewForbidden(podsResource, "a", nil), wantFailed: true},
		"conflict":    {err: apierrors.NewConflict(podsResource, "a", nil)},
		"moved":       {err: errMoved},
		"name taken":  {err: ErrNameCollision, wantFailed: true},
		"unavailable": {err: apierrors.NewServiceUnavailable("test"), wantFailed: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newBench(t, nil, nil).writer(testParent())
			w.failed("create", testOutput("a"), test.err)
			if got := len(w.outcome.Failed) == 1; got != test.wantFailed {
				t.Errorf("failed: got %v, want %v", got, test.wantFailed)
			}
			if w.err() == nil {
				t.Error("nothing says to look again")
			}
		})
	}
}

// A user that empties the map key takes the output out of the bucket: it is
// released, not taken for one whose input is gone.
func TestEmptyMapKeyIsReleased(t *testing.T) {
	o := testOutput("out", func(o *corev1.Pod) { o.Labels[testTags.MapKey] = "" })
	b := newBench(t, []client.Object{o, testParent()}, []client.Object{o, testParent()})
	_, err := b.Reconcile(context.Background(), Request{Parent: testKey.Parent})
	if err != nil {
		t.Fatal(err)
	}
	var got corev1.Pod
	if err := b.real.Get(context.Background(), client.ObjectKeyFromObject(o), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.OwnerReferences) != 0 {
		t.Errorf("still owned: %v", got.OwnerReferences)
	}
}

// An orphan is taken only for a parent that is there, on the API server.
//
// Contract: OWN-1.
func TestAdopt(t *testing.T) {
	for name, test := range map[string]struct {
		parent      *corev1.ConfigMap
		wantAdopted bool
	}{
		"the parent is there": {parent: testParent(), wantAdopted: true},
		"it is gone":          {},
		"another has its name": {parent: testParent(func(p *corev1.ConfigMap) {
			p.UID = "new-uid"
		})},
		"it is being deleted": {parent: testParent(func(p *corev1.ConfigMap) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: testNow}, []string{"test/wait"}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			orphan := testOutput("in", func(o *corev1.Pod) { o.OwnerReferences = nil })
			there := []client.Object{orphan, testInput()}
			if test.parent != nil {
				there = append(there, test.parent)
			}
			b := newBench(t, []client.Object{orphan, testInput(), testParent()}, there)
			var outcome Outcome
			b.Record = func(_ *corev1.ConfigMap, _, note string, o Outcome) string {
				outcome = o
				return note
			}
			b.reconcile(t)
			var got corev1.Pod
			if err := b.real.Get(context.Background(), client.ObjectKeyFromObject(orphan), &got); err != nil {
				t.Fatal(err)
			}
			if adopted := metav1.IsControlledBy(&got, testParent()); adopted != test.wantAdopted {
				t.Errorf("adopted: got %v, want %v", adopted, test.wantAdopted)
			}
			refused := slices.ContainsFunc(outcome.Failed, func(f Failure) bool { return errors.Is(f.Err, ErrAdoptionRefused) })
			if refused == test.wantAdopted {
				t.Errorf("refused: got %v, want %v", refused, !test.wantAdopted)
			}
		})
	}
}

// A namespace that is made anew is said to be terminating for a moment. What
// was not created then must not wait for the next event.
func TestCreateInANamespaceThatGoesIsTriedAgain(t *testing.T) {
	objects := []client.Object{testInput(), testParent()}
	b := newBench(t, objects, objects)
	refuse := true
	b.client = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if refuse {
				err := apierrors.NewForbidden(podsResource, o.GetName(), nil)
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	})
	var failures []Failure
	b.Record = func(_ *corev1.ConfigMap, _, note string, outcome Outcome) string {
		failures = append(failures, outcome.Failed...)
		return note
	}
	if got := b.reconcile(t); got != firstRetry || len(failures) > 0 {
		t.Errorf("looks again in %s and tells of %v, want %s and nothing", got, failures, firstRetry)
	}
	refuse = false
	b.clock.SetTime(testNow.Add(firstRetry))
	b.reconcile(t)
	if err := b.real.Get(context.Background(), client.ObjectKeyFromObject(testOutput("in")), &corev1.Pod{}); err != nil {
		t.Error(err)
	}
}

// Deletes that wait for their turn must not hasten the next try of those that
// are refused.
func TestPacedDeletesRespectBackoff(t *testing.T) {
	shown := []client.Object{testOutput("a"), testOutput("b"), testOutput("c"), testParent()}
	for name, test := range map[string]struct {
		spoil func(*bench)
		want  time.Duration
	}{
		"they go": {spoil: func(*bench) {}, want: time.Millisecond},
		"the clock is skewed": {
			spoil: func(b *bench) { b.serverTime = func() time.Time { return testNow.Add(time.Hour) } },
			want:  firstRetry,
		},
		"they are denied": {
			spoil: func(b *bench) {
				b.client = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
					Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
						return apierrors.NewForbidden(podsResource, "", nil)
					},
				})
			},
			want: firstRetry,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, shown, shown)
			b.pace = newPace(2)
			test.spoil(b)
			if got := b.reconcile(t); got != test.want {
				t.Errorf("looks again in %s, want %s", got, test.want)
			}
		})
	}
}

// What was given to a parent that went in between would go to the garbage
// collector: it is given back, and the rest is left alone.
func TestAdoptionForAParentThatGoesMeanwhile(t *testing.T) {
	orphan := func(name string) client.Object {
		return testOutput(name, func(o *corev1.Pod) { o.OwnerReferences = nil })
	}
	objects := []client.Object{orphan("a"), orphan("b"), testInput(), testParent()}
	b := newBench(t, objects, objects)
	b.client = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			err := c.Patch(ctx, o, p, opts...)
			_ = c.Delete(ctx, testParent())
			return err
		},
	})
	b.reconcile(t)
	var pods corev1.PodList
	if err := b.real.List(context.Background(), &pods); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if pod.Labels[testTags.MapKey] == testKey.MapKey && metav1.IsControlledBy(&pod, testParent()) && pod.Name != "in" {
			t.Errorf("%s belongs to a parent that is gone", pod.Name)
		}
	}
}

// Deletes that are refused are tried ever more rarely, whatever turn they are
// given and whatever events come.
func TestRefusedDeletesAreTriedEverMoreRarely(t *testing.T) {
	shown := []client.Object{testOutput("a"), testParent()}
	b := newBench(t, shown, shown)
	b.pace = newPace(0.1)
	b.serverTime = func() time.Time { return b.clock.Now().Add(time.Hour) }
	tries, waited := 0, 0
	b.Record = func(_ *corev1.ConfigMap, _, note string, o Outcome) string {
		if o.Paused != nil {
			tries++
		}
		if o.Waiting {
			waited++
		}
		return note
	}
	end := testNow.Add(time.Hour)
	for b.clock.Now().Before(end) {
		b.reconcile(t) // an event
		b.clock.SetTime(b.clock.Now().Add(min(b.reconcile(t), time.Minute)))
	}
	// 1+2+4+…+256 s, and then every 5 minutes.
	if tries < 10 || tries > 25 {
		t.Errorf("tried %d times in an hour", tries)
	}
	if waited == 0 {
		t.Error("passes that wait for their turn don't say so")
	}
}

// The client tries again by itself where the server asks for it: not beyond
// the age of what the delete rests on.
func TestDeletesEndWithTheirEvidence(t *testing.T) {
	shown := []client.Object{testOutput("a"), testParent()}
	b := newBench(t, shown, shown)
	var left time.Duration
	b.client = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
		Delete: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.DeleteOption) error {
			if deadline, ok := ctx.Deadline(); ok {
				left = time.Until(deadline)
			}
			return nil
		},
	})
	b.reconcile(t)
	if left <= 0 || left > confirmedFor {
		t.Errorf("a delete may take %v, want %v at most", left, confirmedFor)
	}
}

// A create that fails again and again holds up no delete.
func TestFailedCreatesHoldUpNoDelete(t *testing.T) {
	objects := []client.Object{testInput(), testParent(), testOutput("old")}
	b := newBench(t, objects, objects)
	b.pace = newPace(50)
	b.client = interceptor.NewClient(b.real.(client.WithWatch), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(podsResource, "", nil)
		},
	})
	for range 10 {
		b.retries.after(b.clock.Now(), testKey)
		b.clock.SetTime(b.clock.Now().Add(lastRetry))
	}
	b.retries.after(b.clock.Now(), testKey)
	b.reconcile(t)
	err := b.real.Get(context.Background(), client.ObjectKeyFromObject(testOutput("old")), &corev1.Pod{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the output that is no longer desired is still there: %v", err)
	}
}
