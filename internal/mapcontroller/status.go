// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// settleWithin bounds how long a status waits for every key to be looked at
// under a new generation, or after a start. Counts that grow as keys come in
// would be written again and again, and mean nothing.
const settleWithin = 10 * time.Second

// statusWriter works out the status of parents and writes it where it changed.
// It is a controller of its own, so that a parent has a status also where the
// kinds of its keys are missing.
type statusWriter[P client.Object, S any] struct {
	*controller[P, S]
	wake wakeUp

	mu      sync.Mutex
	written map[types.NamespacedName]time.Time
	unset   map[types.NamespacedName]time.Time
}

// wakeUp enqueues parents from outside of the queue's own events.
type wakeUp struct {
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	after time.Duration
}

// start is a source: it is given the queue when the controller starts.
func (w *wakeUp) start(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = q
	return nil
}

// add is called for every change of an account. The little delay gathers what
// comes together.
func (w *wakeUp) add(parent types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue != nil {
		w.queue.AddAfter(reconcile.Request{NamespacedName: parent}, w.after)
	}
}

// Reconcile writes the status of one parent, unless it was just written: then
// it looks again when the interval is over.
func (s *statusWriter[P, S]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	parent, known, err := s.parent(req.NamespacedName)
	if !known || err != nil {
		s.forget(req.NamespacedName)
		if err == nil {
			s.gone(req.NamespacedName)
		}
		return reconcile.Result{}, err
	}
	err = s.finalize(ctx, parent)
	if err != nil {
		err = fmt.Errorf("finalizer: %w", err)
	}
	if parent.GetDeletionTimestamp() != nil {
		// It may stay for long, and nothing is told of it any more.
		s.gone(req.NamespacedName)
		return reconcile.Result{}, err
	}
	result, statusErr := s.write(ctx, req, parent)
	return result, errors.Join(err, statusErr)
}

func (s *statusWriter[P, S]) write(ctx context.Context, req reconcile.Request, parent P) (reconcile.Result, error) {
	situation, wait := s.situation(req.NamespacedName, parent)
	if wait == 0 {
		wait = s.untilInterval(req.NamespacedName)
	}
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if situation == nil {
		return reconcile.Result{}, nil
	}

	changed := parent.DeepCopyObject().(P)
	s.Status(s.Clock.Now(), changed, *situation)
	patch, err := statusPatch(parent, changed)
	if patch == nil || err != nil {
		return reconcile.Result{}, err
	}
	s.mu.Lock()
	s.written[req.NamespacedName] = s.Clock.Now()
	s.mu.Unlock()
	err = s.client.Status().Patch(ctx, changed, patch, client.FieldOwner(s.Name))
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: s.StatusInterval}, nil
	}
	return reconcile.Result{}, client.IgnoreNotFound(err)
}

// statusPatch returns nil if there is nothing to write. The patch holds what
// differs from the copy in the cache. Upon another version it would make a status
// that nobody has worked out, so it is held to that version; the event of the
// newer one wakes the parent again.
func statusPatch(cached, changed client.Object) (client.Patch, error) {
	// Most looks change nothing: they need no JSON to tell.
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

// situation gathers what is known; nil where the parent's keys are not known
// yet, which will wake the parent. A wait is for keys to be looked at.
func (s *statusWriter[P, S]) situation(name types.NamespacedName, parent P) (*Situation[S], time.Duration) {
	situation := &Situation[S]{Missing: s.kinds.missing()}
	_, situation.Invalid = s.Select(parent)
	if len(situation.Missing) > 0 || situation.Invalid != nil {
		situation.Settled = true
		return situation, 0
	}
	var ok bool
	situation.Totals, situation.Note, situation.Settled, ok = s.ledger.read(name, parent.GetUID(), parent.GetGeneration())
	if !ok {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if situation.Settled {
		delete(s.unset, name)
		return situation, 0
	}
	now := s.Clock.Now()
	since, waiting := s.unset[name]
	if !waiting || now.Before(since) { // the clock was set back
		s.unset[name] = now
		since = now
	}
	return situation, max(0, settleWithin-now.Sub(since))
}

func (s *statusWriter[P, S]) untilInterval(name types.NamespacedName) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.written[name]
	if !ok {
		return 0
	}
	since := s.Clock.Now().Sub(last)
	if since < 0 { // the clock was set back
		return 0
	}
	return max(0, s.StatusInterval-since)
}

func (s *statusWriter[P, S]) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.written, name)
	delete(s.unset, name)
}
