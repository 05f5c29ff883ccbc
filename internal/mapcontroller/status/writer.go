// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"sync"
	"time"
	"unique"

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

// clockInterval is after how many intervals the API server's clock is read again where
// it could not be trusted.
const clockInterval = 12

// Summary is what is known about a parent when its status is computed.
type Summary struct {
	// Missing names the kinds that are not installed.
	Missing []string
	// Invalid says why the spec cannot be compiled.
	Invalid error
	// Spec is that of the parent's Program; nil if Invalid is set.
	Spec any
	// Totals is the proposal's aggregated status: for each input kind how many are
	// selected, for each output kind how many are owned and of how many a condition
	// is true, by plan.Path. Of an invalid spec only those of outputs are known. It is
	// nil where keys cannot be reconciled, because a kind is missing.
	Totals map[string]int
	// Keys are the statuses that decisions returned, in no order.
	Keys []any
	// ServerTime is the API server's time, in whole seconds, where RecordsTime asked for
	// it; zero if it is not known. Then the status is computed again after a while.
	ServerTime time.Time
	// Settled is set if every key was reconciled under the parent's generation and, if
	// the parent owns by labels, no output refers to it.
	Settled bool
}

// NewSummary returns a settled Summary of some keys.
func NewSummary(kinds *plan.Kinds, keys ...*plan.KeyStatus) *Summary {
	counts := map[unique.Handle[plan.Path]]int{}
	for _, in := range kinds.Inputs {
		counts[unique.Make(plan.Path{"inputs", in.Resource, "total"})] = 0
	}
	for _, out := range kinds.Outputs {
		counts[unique.Make(plan.Path{"outputs", out.Resource, "total"})] = 0
	}
	s := &Summary{Totals: map[string]int{}, Settled: true}
	for _, key := range keys {
		for _, count := range key.Counts {
			counts[count.Path] += count.N
		}
		if key.Status != nil {
			s.Keys = append(s.Keys, key.Status)
		}
	}
	for path, n := range counts {
		s.Totals[path.Value().String()] = n
	}
	return s
}

// Writer writes the status of parents.
type Writer struct {
	// FieldManager is that of the writes.
	FieldManager string
	Client       client.Client
	Clock        clock.PassiveClock
	// Interval is the shortest time between two writes of one parent's status.
	Interval   time.Duration
	Kinds      *plan.Kinds
	Aggregator *Aggregator
	// Missing returns the kinds that are not installed.
	Missing func() []string
	// RecordsTime returns whether the status is about to record a time on which other
	// decisions depend. Nil: it never is. ServerTime reads the API server's clock.
	RecordsTime func(now time.Time, parent client.Object) bool
	ServerTime  func(ctx context.Context, parent client.Object) (time.Time, error)
	// Set computes a status into a parent.
	Set func(now time.Time, parent client.Object, s Summary)

	// parents has the times of each parent.
	parents sync.Map
}

// times are when a parent's status may be written again, and until when it waits
// for its keys at most. They need no lock, because a parent is reconciled once at a
// time.
type times struct{ next, settled time.Time }

// Write writes a parent's status if it changed. Without released, outputs may have
// references that they should not have. The result says when to try again if it is too
// early.
func (w *Writer) Write(ctx context.Context, parent plan.Parent, released bool) (reconcile.Result, error) {
	known, _ := w.parents.LoadOrStore(client.ObjectKeyFromObject(parent.Object), &times{})
	now, t := w.Clock.Now(), known.(*times)
	if wait := t.next.Sub(now); wait > 0 && wait <= w.Interval { // else the clock was set back
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	summary := w.summary(parent)
	if summary == nil {
		return reconcile.Result{}, nil
	}
	summary.Settled = summary.Settled && released
	switch wait := t.settled.Sub(now); {
	case summary.Settled:
		t.settled = time.Time{}
	case t.settled.IsZero() || wait > settleWithin: // the clock was set back
		t.settled = now.Add(settleWithin)
		return reconcile.Result{RequeueAfter: settleWithin}, nil
	case wait > 0:
		return reconcile.Result{RequeueAfter: wait}, nil
	}

	var err error
	var result reconcile.Result
	if w.RecordsTime != nil && w.RecordsTime(now, parent.Object) {
		if summary.ServerTime, err = w.ServerTime(ctx, parent.Object); err != nil {
			return result, err
		}
		if summary.ServerTime.IsZero() {
			result.RequeueAfter = clockInterval * w.Interval
		}
	}
	changed := parent.Object.DeepCopyObject().(client.Object)
	w.Set(now, changed, *summary)
	if equality.Semantic.DeepEqual(parent.Object, changed) {
		return result, nil
	}
	// Held to the cached version: on another one it would make a status that nobody
	// computed. The event of a newer version wakes the parent again.
	patch := client.MergeFromWithOptions(parent.Object, client.MergeFromWithOptimisticLock{})
	t.next = now.Add(w.Interval)
	err = w.Client.Status().Patch(ctx, changed, patch, client.FieldOwner(w.FieldManager))
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: w.Interval}, nil
	}
	return result, client.IgnoreNotFound(err)
}

// summary returns what is known, or nil where the parent's keys are not tracked
// yet; tracking them wakes the parent.
func (w *Writer) summary(parent plan.Parent) *Summary {
	if missing := w.Missing(); len(missing) > 0 {
		return &Summary{Missing: missing, Invalid: parent.Invalid, Settled: true}
	}
	keys, settled, tracked := w.Aggregator.snapshot(parent.Object)
	if !tracked {
		return nil
	}
	s := NewSummary(w.Kinds, keys...)
	s.Invalid, s.Settled = parent.Invalid, settled
	if parent.Program != nil {
		s.Spec = parent.Program.Spec
	}
	return s
}

// Forget drops what is remembered of a parent that is gone.
func (w *Writer) Forget(name types.NamespacedName) { w.parents.Delete(name) }
