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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/status"
)

// What is known of keys does not depend on their writes: those that wait for a worker of
// their namespace are decided while the creates of others hang.
//
// Contract: STAT-9, STAT-12.
func TestEveryKeyIsDecidedWhileCreatesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 20
		all := []client.Object{fixture.Parent()}
		var requests []Request
		for i := range keys {
			in := fixture.Input(func(s *corev1.Secret) { s.Name, s.UID = fmt.Sprint("in-", i), types.UID(fmt.Sprint("uid-", i)) })
			all, requests = append(all, in), append(requests, Request{Parent: testKey.Parent, MapKey: string(in.UID)})
		}
		h := newHarness(t, all, all, func(_ *MapController, o *Options) { o.Workers = 8 })
		h.api.Before = func(ctx context.Context, verb string, _ runtime.Object) error {
			if verb == "create" {
				<-ctx.Done()
			}
			return ctx.Err()
		}
		enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, new(fixture.Parent())) })
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		queue := make(chan Request, keys)
		for _, req := range requests {
			queue <- req
		}
		for range 8 {
			go func() {
				for {
					select {
					case req := <-queue:
						_, _ = h.Reconcile(ctx, req)
					case <-ctx.Done():
						return
					}
				}
			}()
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		for _, req := range requests {
			if !h.aggregator.Decided(req, fixture.Parent()) {
				t.Errorf("%s is not decided", req.MapKey)
			}
		}
		if h.aggregator.Settled(fixture.Parent()) {
			t.Error("settled while creates hang")
		}
		stop()
		synctest.Wait()
	})
}

// A namespace whose admission hangs does not hold all workers of statuses.
//
// Contract: STAT-13.
func TestStatusesShareTheirWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 8
		var all []client.Object
		for i := range 3 * workers {
			all = append(all, fixture.Parent(func(p *appsv1.Deployment) { p.Name, p.UID = fmt.Sprint("p-", i), types.UID(fmt.Sprint("uid-", i)) }))
		}
		neighbor := fixture.Parent(func(p *appsv1.Deployment) { p.Namespace = "other" })
		all = append(all, neighbor)
		h := newHarness(t, all, all, func(c *MapController, o *Options) {
			o.Workers = workers
			c.Status.OfParent = func(_ time.Time, parent client.Object, _ Summary) { parent.(*appsv1.Deployment).Status.Replicas = 1 }
		})
		for _, p := range all {
			h.aggregator.Track(p, nil)
		}
		var written atomic.Bool
		h.api.Before = func(ctx context.Context, verb string, o runtime.Object) error {
			if verb == "patch/status" && o.(client.Object).GetNamespace() != "other" {
				<-ctx.Done()
			}
			if verb == "patch/status" && ctx.Err() == nil {
				written.Store(true)
			}
			return ctx.Err()
		}
		ctx, stop := context.WithCancel(t.Context())
		queue := make(chan client.Object, len(all))
		for _, p := range all {
			queue <- p // the neighbor is the last
		}
		start, took := time.Now(), time.Duration(0)
		for range workers {
			go func() {
				for {
					select {
					case p := <-queue:
						_, _ = h.ReconcileStatus(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)})
						if p == client.Object(neighbor) {
							took = time.Since(start)
						}
					case <-ctx.Done():
						return
					}
				}
			}()
		}
		time.Sleep(time.Minute)
		stop()
		synctest.Wait()
		if !written.Load() || took > 10*time.Second {
			t.Errorf("the neighbor's status was written: %v, after %s", written.Load(), took)
		}
	})
}

// What was decided while a kind was missing says nothing about what there is now.
//
// Contract: STAT-12.
func TestKindsThatAreBackUndecideEveryKey(t *testing.T) {
	all := []client.Object{fixture.Parent(), fixture.Input()}
	h := newHarness(t, all, all)
	enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, new(fixture.Parent())) })
	h.reconcile(t)
	if !h.aggregator.Decided(testKey, fixture.Parent()) {
		t.Fatal("not decided")
	}
	if got := enqueued(func(q keyQueue) {
		if err := h.keys.Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		h.kindsBack()
	}); len(got) != 1 || h.aggregator.Decided(testKey, fixture.Parent()) {
		t.Errorf("enqueued %v, decided %v", got, h.aggregator.Decided(testKey, fixture.Parent()))
	}
}

// What a pass is about to adopt is counted before it is asked for, and no longer once the API server refused
// it. Without an answer it may have been adopted.
//
// Contract: STAT-12.
func TestOrphansCountUntilTheirAdoptionIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want int
	}{
		"adopted":   {want: 1},
		"refused":   {err: apierrors.NewForbidden(schema.GroupResource{}, "in", nil), want: 0},
		"no answer": {err: context.DeadlineExceeded, want: 1},
		"an error":  {err: apierrors.NewInternalError(errors.New("etcd")), want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			all := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in", fixture.Orphan)}
			total := -1
			h := newHarness(t, all, all, func(c *MapController, _ *Options) {
				c.Status.OfParent = func(_ time.Time, _ client.Object, s Summary) { total = s.Totals["outputs.pods.total"] }
			})
			enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, new(fixture.Parent())) })
			counted := func() int {
				if err := h.reconcileStatus(t); err != nil {
					t.Error(err)
				}
				return total
			}
			during := -1
			h.api.Before = func(_ context.Context, verb string, _ runtime.Object) error {
				if verb != "patch" {
					return nil
				}
				during = counted()
				return test.err
			}
			_, _ = h.Reconcile(t.Context(), testKey)
			if after := counted(); during != 1 || after != test.want {
				t.Errorf("counted %d during the patch, %d after it; want 1 and %d", during, after, test.want)
			}
		})
	}
}

// An output that lost its map key while no manager ran is in no cache, and is deleted with its parent all the same: it is counted
// before the status says how many there are.
//
// Contract: STAT-12.
func TestStatusWaitsForOutputsThatLostTheirMapKeyUnseen(t *testing.T) {
	lost := fixture.Output("lost", func(o *corev1.Pod) { delete(o.Labels, fixture.Tags.MapKey) })
	parent := fixture.Parent()
	var totals []int
	cached := []client.Object{parent, fixture.Input(), fixture.Output("in")}
	h := newHarness(t, cached, append(cached, lost), func(c *MapController, _ *Options) {
		c.Status.OfParent = func(_ time.Time, _ client.Object, s Summary) {
			if s.Totals != nil {
				totals = append(totals, s.Totals["outputs.pods.total"])
			}
		}
	})
	h.aggregator = &status.Aggregator{Changed: h.aggregator.Changed}
	h.writer.Aggregator = h.aggregator
	h.api.Before = func(_ context.Context, verb string, o runtime.Object) error {
		if verb == "patch" && o.(client.Object).GetName() == "lost" {
			return apierrors.NewInternalError(errors.New("a webhook is down"))
		}
		return nil
	}
	enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, &parent) })
	h.reconcile(t)
	next := func() {
		t.Helper()
		h.clock.SetTime(h.clock.Now().Add(time.Minute))
		if err := h.reconcileStatus(t); err != nil {
			t.Fatal(err)
		}
	}
	if next(); len(totals) > 0 {
		t.Fatalf("before the search: %v", totals)
	}
	if got := enqueued(func(q keyQueue) {
		if err := h.keySource(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Reconcile(t.Context(), plan.SearchAll); err != nil {
			t.Fatal(err)
		}
	}); !slices.Contains(got, "p/") {
		t.Fatalf("the search enqueues %v", got)
	}
	if next(); len(totals) > 0 {
		t.Fatalf("before the pass: %v", totals)
	}
	if _, err := h.Reconcile(t.Context(), plan.SearchOf(testKey.Parent)); err == nil {
		t.Fatal("the pass reports no error")
	}
	if next(); len(totals) != 1 || totals[0] != 2 {
		t.Errorf("after the pass: %v, want 2: one of the cache and the lost one", totals)
	}
}

// forbids is a reader that may not list in a namespace.
type forbids struct {
	client.Reader
	namespace string
}

func (f forbids) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if (&client.ListOptions{}).ApplyOptions(options).Namespace == f.namespace {
		return apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("the Role is gone with its namespace"))
	}
	return f.Reader.List(ctx, list, options...)
}

// A namespace that cannot be searched keeps no status of another one from being written: somebody may have deleted it.
//
// Contract: STAT-12.
func TestStatusDoesNotWaitForTheSearchOfAnotherNamespace(t *testing.T) {
	written := 0
	cached := []client.Object{fixture.Parent(), fixture.Input(), fixture.Output("in")}
	h := newHarness(t, cached, cached, func(c *MapController, o *Options) {
		o.Namespaces = []string{"gone", "ns"}
		c.Status.OfParent = func(_ time.Time, _ client.Object, s Summary) {
			if s.Totals != nil {
				written++
			}
		}
	})
	h.aggregator = &status.Aggregator{Changed: h.aggregator.Changed}
	h.writer.Aggregator = h.aggregator
	h.guard.Live = forbids{h.guard.Live, "gone"}
	enqueued(func(q keyQueue) { send(h.parentEvents(), q, nil, new(fixture.Parent())) })
	h.reconcile(t)
	if _, err := h.Reconcile(t.Context(), plan.SearchAll); err == nil {
		t.Error("the search reports no error, and would not be repeated")
	}
	if err := h.reconcileStatus(t); err != nil || written != 1 {
		t.Errorf("error %v, %d statuses written", err, written)
	}
}
