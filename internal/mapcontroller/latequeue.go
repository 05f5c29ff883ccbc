// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// lateQueue adds to a controller's queue from outside of the controller's own
// events. Before the controller has started, there is no queue, and nothing is
// lost: the controller begins with everything that there is.
type lateQueue[T comparable] struct {
	after time.Duration

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[T]
}

// start is a source: it is given the queue when the controller starts.
func (l *lateQueue[T]) start(_ context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = q
	return nil
}

func (l *lateQueue[T]) add(item T) {
	l.with(func(q workqueue.TypedRateLimitingInterface[T]) { q.AddAfter(item, l.after) })
}

// with calls do with the queue, if there is one.
func (l *lateQueue[T]) with(do func(workqueue.TypedRateLimitingInterface[T])) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue != nil {
		do(l.queue)
	}
}

// waiting returns the number of items that are due, zero before there is a queue.
func (l *lateQueue[T]) waiting() (items int) {
	l.with(func(q workqueue.TypedRateLimitingInterface[T]) { items = q.Len() })
	return items
}
