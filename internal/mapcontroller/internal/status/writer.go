// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// patience is how long a status waits for its keys before it is written without what they
// add to it. Most keys are decided by then, and one write is saved.
const patience = time.Second

// slowest is the longest delay, in multiples of Interval: after writes that fail, and
// until the API server's clock is read again where it could not be trusted.
const slowest = 12

// outdated is the time, in multiples of Interval, for which the writes of a status fail
// before it counts as unwritten.
const outdated = 3

// Writer writes the status of parents.
type Writer struct {
	Client client.Client
	// Live reads without a cache.
	Live  client.Reader
	Clock clock.PassiveClock
	// Interval is the shortest time between two writes of one parent's status, and Timeout
	// the longest that one may take.
	Interval, Timeout time.Duration
	Kinds             *plan.Kinds
	Aggregator        *Aggregator
	// Missing returns the kinds that are not installed. Unseen returns whether optional ones are missing, too; nil: there
	// are none.
	Missing   func() []string
	Unseen    func() bool
	Recording Recording
	// ServerTime reads the API server's clock.
	ServerTime func(ctx context.Context, parent client.Object) (time.Time, error)
	// Set computes a status into a parent.
	Set func(now time.Time, parent client.Object, s Summary)
	// Written is called after a status was written, with what the API server had and has. Nil: nobody asks.
	Written func(now time.Time, before, after client.Object)
	// Unwritten receives the parents whose status could not be written for some time.
	Unwritten *Unwritten

	// parents has the times of each parent.
	parents sync.Map
}

// times are when a parent's status may be written again. They need no lock, because a
// parent is reconciled once at a time.
type times struct {
	// next is delay after the last write; failing is the delay of a series of failures.
	next           time.Time
	delay, failing time.Duration
	// waits is since when the status waits for its keys; zero if it does not.
	waits time.Time
	// unwritten is since when no write that was due was made; zero if the last one was.
	unwritten time.Time
}

// Write writes a parent's status if it changed. Without released, outputs may have
// references that they should not have. The result says when to try again if it is too
// early. Writes that fail back off.
func (w *Writer) Write(ctx context.Context, parent plan.Parent, released bool) (reconcile.Result, error) {
	name := client.ObjectKeyFromObject(parent.Object)
	known, _ := w.parents.LoadOrStore(name, &times{})
	now, t := w.Clock.Now(), known.(*times)
	if wait := t.next.Sub(now); wait > 0 && wait <= t.delay { // else the clock was set back
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	summary := w.summary(parent)
	summary.Settled = released && (summary.Totals != nil || summary.Invalid != nil)
	if len(summary.Missing) > 0 || summary.Totals != nil && released {
		t.waits = time.Time{}
	} else if wait := t.waits.Add(patience).Sub(now); t.waits.IsZero() || wait > patience { // the clock was set back
		t.waits = now
		return reconcile.Result{RequeueAfter: patience}, nil
	} else if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	written, result, err := w.write(ctx, now, parent.Object, *summary)
	w.Unwritten.Set(name, t.unwrittenFor(now, written, err) >= outdated*w.Interval)
	switch {
	case apierrors.IsConflict(err):
		t.delay, result, err = w.Interval, reconcile.Result{RequeueAfter: w.Interval}, nil
	case err != nil:
		t.failing = min(max(2*t.failing, w.Interval), slowest*w.Interval)
		t.delay = t.failing
	case written:
		t.delay, t.failing = w.Interval, 0
	default:
		return result, nil
	}
	t.next = now.Add(t.delay)
	return result, err
}

// unwrittenFor returns for how long writes have failed; zero if the last one has not. Conflicts
// count: who changes a parent again and again can keep its status from being written.
func (t *times) unwrittenFor(now time.Time, written bool, err error) time.Duration {
	switch {
	case written || err == nil:
		t.unwritten = time.Time{}
		return 0
	case t.unwritten.IsZero() || t.unwritten.After(now): // the clock was set back
		t.unwritten = now
	}
	return now.Sub(t.unwritten)
}

// write writes a status if it changed. With an error, written says that at least its
// conditions are.
func (w *Writer) write(
	ctx context.Context, now time.Time, parent client.Object, s Summary,
) (written bool, result reconcile.Result, err error) {
	if w.Recording.IsDue != nil && w.Recording.IsDue(now, parent, s) {
		if s.ServerTime, err = w.ServerTime(ctx, parent); err != nil {
			return false, result, err
		}
		if s.ServerTime.IsZero() {
			result.RequeueAfter = slowest * w.Interval
		}
	}
	changed := parent.DeepCopyObject().(client.Object)
	w.Set(now, changed, s)
	if equality.Semantic.DeepEqual(parent, changed) {
		return false, result, nil
	}
	err = w.patch(ctx, parent, changed, s)
	if apierrors.IsInvalid(err) {
		// Something in it is longer, or other, than the schema allows. It must not hide
		// whether the parent is ready, nor the record.
		s.Refused = true
		changed = parent.DeepCopyObject().(client.Object)
		w.Set(now, changed, s)
		refused := w.patch(ctx, parent, changed, s)
		w.tell(now, parent, changed, refused)
		return refused == nil, result, errors.Join(err, refused)
	}
	w.tell(now, parent, changed, err)
	switch {
	case apierrors.IsNotFound(err):
		err = w.notFound(ctx, parent)
	case apierrors.IsConflict(err):
		if failed := w.ensureRecord(ctx, parent); failed != nil {
			err = failed
		}
	}
	return err == nil, result, err
}

// tell calls Written if a status was written.
func (w *Writer) tell(now time.Time, before, after client.Object, err error) {
	if err == nil && w.Written != nil {
		w.Written(now, before, after)
	}
}

// notFound explains that a status was not found: the parent is gone, which is no error, or its kind has no status.
func (w *Writer) notFound(ctx context.Context, parent client.Object) error {
	err := w.Live.Get(ctx, client.ObjectKeyFromObject(parent), plan.EmptyLike(parent))
	if err == nil {
		err = errors.New("the parent exists, and has no status to write: its CRD must have the subresource status")
	}
	return client.IgnoreNotFound(err)
}

// summary returns what is known.
func (w *Writer) summary(parent plan.Parent) *Summary {
	s := &Summary{Missing: w.Missing()}
	if keys, decided := w.Aggregator.snapshot(parent.Object); decided && len(s.Missing) == 0 {
		s = NewSummary(w.Kinds, keys...)
	}
	s.Unseen = w.Unseen != nil && w.Unseen()
	s.Invalid = parent.Invalid
	if parent.Program != nil {
		s.Spec = parent.Program.Spec
	}
	return s
}

// Forget drops what is remembered of a parent that is gone.
func (w *Writer) Forget(name types.NamespacedName) {
	w.parents.Delete(name)
	w.Unwritten.Set(name, false)
}
