// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
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

	mu sync.Mutex
	// written is when a status was last written, unsettled since when it waits for
	// its keys.
	written, unsettled map[types.NamespacedName]time.Time
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
	patch, err := statusPatch(parent.Object, changed)
	if patch == nil || err != nil {
		return reconcile.Result{}, err
	}
	w.mu.Lock()
	if w.written == nil {
		w.written = map[types.NamespacedName]time.Time{}
	}
	w.written[name] = w.Clock.Now()
	w.mu.Unlock()
	err = w.Client.Status().Patch(ctx, changed, patch, client.FieldOwner(w.FieldManager))
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: w.Interval}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// statusPatch returns nil if there is nothing to write. The patch holds what
// differs from the cached object, and is held to its version: on another version
// it would make a status that nobody computed. The event of a newer version wakes
// the parent again.
func statusPatch(cached, changed client.Object) (client.Patch, error) {
	// Most changes of keys leave the status as it is, which needs no JSON to tell.
	if equality.Semantic.DeepEqual(cached, changed) {
		return nil, nil
	}
	patch := client.MergeFromWithOptions(cached, client.MergeFromWithOptimisticLock{})
	data, err := patch.Data(changed)
	if err != nil {
		return nil, err
	}
	// Compared as written: a time in memory has nanoseconds.
	unchanged := fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, cached.GetResourceVersion())
	if string(data) == unchanged {
		return nil, nil
	}
	return client.RawPatch(patch.Type(), data), nil
}

// summary returns what is known, or nil where the parent's keys are not tracked
// yet; tracking them wakes the parent. The wait is for keys to be reconciled.
func (w *Writer) summary(name types.NamespacedName, parent plan.Parent) (*Summary, time.Duration) {
	s := &Summary{Missing: w.Missing(), Invalid: parent.Invalid}
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

func (w *Writer) waitToSettle(name types.NamespacedName, settled bool) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if settled {
		delete(w.unsettled, name)
		return 0
	}
	now := w.Clock.Now()
	since, waiting := w.unsettled[name]
	if !waiting || now.Before(since) { // the clock was set back
		if w.unsettled == nil {
			w.unsettled = map[types.NamespacedName]time.Time{}
		}
		w.unsettled[name] = now
		since = now
	}
	return max(0, settleWithin-now.Sub(since))
}

func (w *Writer) untilInterval(name types.NamespacedName) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.written[name]
	if !ok {
		return 0
	}
	since := w.Clock.Now().Sub(last)
	if since < 0 { // the clock was set back
		return 0
	}
	return max(0, w.Interval-since)
}

// Forget drops what is remembered of a parent that is gone.
func (w *Writer) Forget(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.written, name)
	delete(w.unsettled, name)
}
