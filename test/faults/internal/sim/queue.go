// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is a controller's: an item is in it once, at the earliest time that was
// asked for, and what is taken out takes its other times along.
type queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T] // the engine adds, and nothing else

	operator  *operator
	lane      lane
	reconcile func(T) (reconcile.Result, error)
	due       map[T]time.Time
	failures  map[T]int
}

func newQueue[T comparable](o *operator, reconcile func(T) (reconcile.Result, error)) *queue[T] {
	return &queue[T]{operator: o, reconcile: reconcile, due: map[T]time.Time{}, failures: map[T]int{}}
}

// Add implements workqueue.TypedInterface.
func (q *queue[T]) Add(item T) { q.AddAfter(item, 0) }

// AddAfter implements workqueue.TypedDelayingInterface. Its timers know nothing
// of the operator's clock.
func (q *queue[T]) AddAfter(item T, d time.Duration) {
	w := q.operator.world
	at := w.now.Add(max(d, 0) + between(w.luck, time.Microsecond, 5*time.Millisecond))
	if due, ok := q.due[item]; ok && !at.Before(due) {
		return
	}
	q.due[item] = at
	w.agenda.add(at, &q.lane, func() {
		if q.operator.alive && q.due[item].Equal(at) {
			q.work(item)
		}
	})
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) AddRateLimited(item T) {
	const first, longest = 5 * time.Millisecond, 1000 * time.Second
	delay := float64(first) * math.Pow(2, float64(q.failures[item]))
	q.failures[item]++
	q.AddAfter(item, time.Duration(min(delay, float64(longest))))
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) Forget(item T) { delete(q.failures, item) }

func (q *queue[T]) work(item T) {
	delete(q.due, item)
	q.lane.busy = true
	result, err := q.reconcile(item)
	q.lane.busy = false
	if !q.operator.alive {
		return
	}
	q.operator.world.reconciles++
	if err != nil {
		q.AddRateLimited(item)
		return
	}
	q.Forget(item)
	if result.RequeueAfter > 0 {
		q.AddAfter(item, result.RequeueAfter)
	}
}

// tardy is how a status controller that has much to do is woken by keys: later,
// and once for many. Nothing but status rests on it, and to work one out takes
// longer than all else in a run.
type tardy struct{ *queue[reconcile.Request] }

// AddAfter implements workqueue.TypedDelayingInterface.
func (t tardy) AddAfter(item reconcile.Request, d time.Duration) {
	t.queue.AddAfter(item, d+t.operator.world.statusDelay)
}
