// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"iter"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// settleWithin bounds how long a status waits for every key to be reconciled
// under a new generation, or after a start. Counts that grow with every key would
// be written again and again, and mean nothing.
const settleWithin = 10 * time.Second

// Summary is what is known about a parent when its status is computed.
type Summary struct {
	// Missing names the kinds that are not installed.
	Missing []string
	// Invalid says why the spec cannot be compiled.
	Invalid error
	// Spec is that of the parent's Program; nil if Invalid is set.
	Spec any
	// Totals counts over all keys. It is nil where they cannot be reconciled: a
	// kind is missing, or the spec is invalid.
	Totals *Totals
	// Settled is set if every key was reconciled under the parent's generation.
	Settled bool

	keys []*plan.KeyStatus
}

// Keys returns the statuses that decisions returned, in no order.
func (s Summary) Keys() iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, key := range s.keys {
			if key.Status != nil && !yield(key.Status) {
				return
			}
		}
	}
}

// NewSummary returns a settled Summary of some keys, for tests of what computes a
// status.
func NewSummary(rules *plan.Rules, keys ...*plan.KeyStatus) Summary {
	return Summary{Totals: newTotals(rules, keys), Settled: true, keys: keys}
}

// Writer writes the status of parents.
type Writer struct {
	// FieldManager is that of the writes.
	FieldManager string
	Client       client.Client
	Clock        clock.PassiveClock
	// Interval is the shortest time between two writes of one parent's status.
	Interval   time.Duration
	Rules      *plan.Rules
	Aggregator *Aggregator
	// Missing returns the kinds that are not installed.
	Missing func() []string
	// Set computes a status into a parent.
	Set func(now time.Time, parent client.Object, s Summary)

	mu      sync.Mutex
	parents map[types.NamespacedName]times
}

// times are when a parent's status was last written, and since when it waits for
// its keys.
type times struct{ written, unsettled time.Time }

// change changes the times of a parent.
func (w *Writer) change(name types.NamespacedName, do func(now time.Time, t *times)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parents == nil {
		w.parents = map[types.NamespacedName]times{}
	}
	t := w.parents[name]
	do(w.Clock.Now(), &t)
	w.parents[name] = t
}

// Write writes a parent's status if it changed. The result says when to try again
// if it is too early.
func (w *Writer) Write(ctx context.Context, parent plan.Parent) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(parent.Object)
	wait := w.untilInterval(name)
	var summary *Summary
	if wait == 0 {
		summary, wait = w.summary(name, parent)
	}
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if summary == nil {
		return reconcile.Result{}, nil
	}

	changed := parent.Object.DeepCopyObject().(client.Object)
	w.Set(w.Clock.Now(), changed, *summary)
	if equality.Semantic.DeepEqual(parent.Object, changed) {
		return reconcile.Result{}, nil
	}
	// Held to the cached version: on another one it would make a status that nobody
	// computed. The event of a newer version wakes the parent again.
	patch := client.MergeFromWithOptions(parent.Object, client.MergeFromWithOptimisticLock{})
	w.change(name, func(now time.Time, t *times) { t.written = now })
	err := w.Client.Status().Patch(ctx, changed, patch, client.FieldOwner(w.FieldManager))
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: w.Interval}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// summary returns what is known, or nil where the parent's keys are not tracked
// yet; tracking them wakes the parent. The wait is for keys to be reconciled.
func (w *Writer) summary(name types.NamespacedName, parent plan.Parent) (*Summary, time.Duration) {
	s := &Summary{Missing: w.Missing(), Invalid: parent.Invalid}
	if parent.Program != nil {
		s.Spec = parent.Program.Spec
	}
	if len(s.Missing) > 0 || s.Invalid != nil {
		s.Settled = true
		return s, 0
	}
	var ok bool
	s.keys, s.Settled, ok = w.Aggregator.snapshot(name, parent.Object.GetUID(), parent.Object.GetGeneration())
	if !ok {
		return nil, 0
	}
	if wait := w.waitToSettle(name, s.Settled); wait > 0 {
		return nil, wait
	}
	s.Totals = newTotals(w.Rules, s.keys)
	return s, 0
}

func (w *Writer) waitToSettle(name types.NamespacedName, settled bool) (wait time.Duration) {
	w.change(name, func(now time.Time, t *times) {
		switch {
		case settled:
			t.unsettled = time.Time{}
			return
		case t.unsettled.IsZero() || now.Before(t.unsettled): // the clock was set back
			t.unsettled = now
		}
		wait = max(0, settleWithin-now.Sub(t.unsettled))
	})
	return wait
}

func (w *Writer) untilInterval(name types.NamespacedName) (wait time.Duration) {
	w.change(name, func(now time.Time, t *times) {
		if since := now.Sub(t.written); since >= 0 && !t.written.IsZero() { // else the clock was set back
			wait = max(0, w.Interval-since)
		}
	})
	return wait
}

// Forget drops what is remembered of a parent that is gone.
func (w *Writer) Forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.parents, name)
}
