// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Late adds to a controller's queue from outside of the controller's own events. Before
// the controller has started, there is no queue, and nothing is lost: the controller begins
// with everything that there is.
type Late[T comparable] struct {
	// After is the delay of Add.
	After time.Duration

	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[T]]
}

// Start is a source: it is given the queue when the controller starts.
func (l *Late[T]) Start(_ context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
	l.queue.Store(&q)
	return nil
}

// With calls do with the queue, if there is one.
func (l *Late[T]) With(do func(workqueue.TypedRateLimitingInterface[T])) {
	if q := l.queue.Load(); q != nil {
		do(*q)
	}
}

// Add adds an item.
func (l *Late[T]) Add(item T) { l.AddAfter(item, l.After) }

// AddAfter adds an item after a delay.
func (l *Late[T]) AddAfter(item T, after time.Duration) {
	l.With(func(q workqueue.TypedRateLimitingInterface[T]) { q.AddAfter(item, after) })
}
