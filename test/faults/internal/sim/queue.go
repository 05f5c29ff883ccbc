// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue is the work queue of one controller, and its single worker. It holds an item once, at the earliest time that was asked for;
// taking an item out drops its later times.
type queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T] // nil: the engine calls no other method

	operator   *operator
	worker     worker
	reconciler reconcile.TypedReconciler[T]
	limiter    workqueue.TypedRateLimiter[T]
	due        map[T]time.Time
}

// newQueue returns a queue with controller-runtime's default rate limiter.
func newQueue[T comparable](o *operator, r reconcile.TypedReconciler[T]) *queue[T] {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second)
	return &queue[T]{operator: o, reconciler: r, limiter: limiter, due: map[T]time.Time{}}
}

// Add implements workqueue.TypedInterface.
func (q *queue[T]) Add(item T) { q.AddAfter(item, 0) }

// AddAfter implements workqueue.TypedDelayingInterface. Its timers run by the simulation's clock, not by the operator's.
func (q *queue[T]) AddAfter(item T, d time.Duration) {
	sim := q.operator.sim
	at := sim.now.Add(max(d, 0) + between(sim.timingRand, time.Microsecond, 5*time.Millisecond))
	if due, ok := q.due[item]; ok && !at.Before(due) {
		return
	}
	q.due[item] = at
	sim.timers.add(at, &q.worker, func() {
		if q.operator.alive && q.due[item].Equal(at) {
			q.process(item)
		}
	})
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) AddRateLimited(item T) { q.AddAfter(item, q.limiter.When(item)) }

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) Forget(item T) { q.limiter.Forget(item) }

func (q *queue[T]) process(item T) {
	delete(q.due, item)
	q.worker.busy = true
	interrupted := q.operator.decidedOn // of the operator's other queue, whose request travels
	q.operator.decidedOn = q.operator.caches()
	result, err := q.reconciler.Reconcile(q.operator.ctx, item)
	q.operator.decidedOn = interrupted
	q.worker.busy = false
	if !q.operator.alive {
		return
	}
	q.operator.sim.reconciles++
	if err != nil {
		q.AddRateLimited(item)
		return
	}
	q.Forget(item)
	if result.RequeueAfter > 0 {
		q.AddAfter(item, result.RequeueAfter)
	}
}

// delayedQueue adds to the status queue later than asked for, so that one reconcile covers many key events. Only status depends on it,
// and aggregating it is the most expensive part of a simulation.
type delayedQueue struct{ *queue[reconcile.Request] }

// AddAfter implements workqueue.TypedDelayingInterface.
func (d delayedQueue) AddAfter(item reconcile.Request, after time.Duration) {
	d.queue.AddAfter(item, after+d.operator.sim.statusDelay)
}
