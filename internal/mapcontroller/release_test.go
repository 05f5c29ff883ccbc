// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
)

// changedSpec gives a parent a second generation, under which it owns by labels.
func changedSpec(p *appsv1.Deployment) { p.Generation = 2 }

func holding(p *appsv1.Deployment) { p.Finalizers = []string{"test/release"} }

// reconcileStatus makes a pass over the parent's status.
func (h *harness) reconcileStatus(t *testing.T) error {
	t.Helper()
	_, err := h.ReconcileStatus(t.Context(), reconcile.Request{NamespacedName: testKey.Parent})
	return err
}

// After a change to owning by labels, an output that the cache does not show may still
// have a reference, which was created under the spec before. A parent is settled only
// when a live list, begun after all its keys were reconciled, finds none.
//
// Contract: OWN-6, STAT-9.
func TestReconcileStatusLooksForReferencesThatTheCacheDoesNotShow(t *testing.T) {
	late := fixture.Output("in", func(o *corev1.Pod) { o.Spec.NodeName = "x" })
	parent := fixture.Parent(changedSpec, holding)
	var settled []bool
	h := newHarness(t, []client.Object{parent, fixture.Input()}, []client.Object{parent, late}, ownsByLabels, func(c *MapController, _ *Options) {
		c.Outputs[0].Covers = func(_, _ client.Object) bool { return true }
		c.Status.OfParent = func(_ time.Time, _ client.Object, s Summary) { settled = append(settled, s.Settled) }
	})
	enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, &parent) })

	if err := h.reconcileStatus(t); err != nil || h.api.Count("*") > 0 {
		t.Errorf("before the key is reconciled: %v, %d requests", err, h.api.Count("*"))
	}
	h.reconcile(t) // the name is taken by our own
	if err := h.reconcileStatus(t); err != nil || h.api.Count("list") != 2 || len(settled) > 0 {
		t.Errorf("after that: %v, %d lists, settled %v", err, h.api.Count("list"), settled)
	}
	if refs := h.api.Pod(t, "in").OwnerReferences; len(refs) > 0 {
		t.Errorf("the output is owned by %v", refs)
	}
	var stored appsv1.Deployment
	if err := h.api.Stored.Get(t.Context(), testKey.Parent, &stored); err != nil || len(stored.Finalizers) > 0 {
		t.Errorf("finalizers %v, error %v", stored.Finalizers, err)
	}

	// The cache shows the parent without the finalizer.
	stored.DeepCopyInto(parent)
	if err := h.reconcileStatus(t); err != nil || !slices.Equal(settled, []bool{true}) || h.api.Count("list") != 2 {
		t.Errorf("at last: %v, settled %v, %d lists", err, settled, h.api.Count("list"))
	}
}

// While admission hangs in one namespace, half of the workers of statuses are left to the others.
func TestReconcileStatusLeavesWorkersToOtherNamespaces(t *testing.T) {
	var cached []client.Object
	for i := range 10 {
		cached = append(cached, fixture.Parent(changedSpec, func(p *appsv1.Deployment) { p.Name, p.UID = fmt.Sprint(i), types.UID(fmt.Sprint(i)) }))
	}
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, cached, nil, ownsByLabels, func(_ *MapController, o *Options) { o.Workers = 8 })
		var hanging atomic.Int32
		h.api.Before = func(ctx context.Context, verb string, _ runtime.Object) error {
			if verb == "patch" { // of the finalizer
				hanging.Add(1)
				defer hanging.Add(-1)
				<-ctx.Done()
			}
			return ctx.Err()
		}
		for _, p := range cached {
			go func() {
				_, _ = h.ReconcileStatus(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
			}()
		}
		time.Sleep(10 * time.Second)
		if n := hanging.Load(); n != 4 {
			t.Errorf("%d of 8 workers hang", n)
		}
	})
}

// A manager that stops ends its requests. The API server may have carried them out.
func TestReconcileStatusReportsNoFailureOfAManagerThatStops(t *testing.T) {
	parent := fixture.Parent(changedSpec, holding)
	var failed []Failure
	h := newHarness(t, []client.Object{parent}, []client.Object{parent, fixture.Output("old")}, ownsByLabels, func(c *MapController, _ *Options) {
		c.Status.OfKey = func(_ client.Object, _ string, _, now any, outcome Outcome) any {
			failed = append(failed, outcome.Failed...)
			return now
		}
	})
	enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, &parent) })
	ctx, stop := context.WithCancel(t.Context())
	h.api.Before = func(_ context.Context, verb string, _ runtime.Object) error {
		if verb == "patch" {
			stop()
		}
		return ctx.Err()
	}
	_, err := h.ReconcileStatus(ctx, reconcile.Request{NamespacedName: testKey.Parent})
	if !errors.Is(err, context.Canceled) || len(failed) > 0 {
		t.Errorf("error %v, failed %v", err, failed)
	}
}

// While a key is reconciled as the spec before asked, its parent is not settled, although
// nothing of the key is seen yet.
func TestReconcileHoldsUpItsParentUntilItEnds(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	h.aggregator.Track(fixture.Parent(), nil)
	if !h.aggregator.Settled(fixture.Parent()) {
		t.Fatal("not settled without keys")
	}
	during := true
	decide := h.program.Map
	h.program.Map = func(seen Observation) Decision {
		during = h.aggregator.Settled(fixture.Parent())
		return decide(seen)
	}
	h.reconcile(t)
	if after := h.aggregator.Settled(fixture.Parent()); during || !after {
		t.Errorf("settled during the pass: %v, after it: %v", during, after)
	}
}

// A finalizer that is added or removed makes another version of the parent. Its status is
// written on that one.
func TestReconcileStatusWaitsForItsOwnChange(t *testing.T) {
	parent := fixture.Parent(changedSpec)
	written := 0
	h := newHarness(t, []client.Object{parent}, []client.Object{parent}, ownsByLabels, func(c *MapController, _ *Options) {
		c.Status.OfParent = func(time.Time, client.Object, Summary) { written++ }
	})
	h.aggregator.Track(fixture.Parent(), []string{testKey.MapKey})
	if err := h.reconcileStatus(t); err != nil || h.api.Count("patch") != 1 || h.api.Count("*") != 1 || written > 0 {
		t.Errorf("%v, %d requests, %d statuses", err, h.api.Count("*"), written)
	}
}
