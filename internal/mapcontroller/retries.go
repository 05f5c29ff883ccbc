// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// The delays between tries of a key whose writes fail.
const (
	firstRetry = time.Second
	lastRetry  = 5 * time.Minute
)

// retries says when to try a key again whose writes fail. The delay grows with
// the tries that were due, and not with those that an event brought about: else
// a key with many events would soon wait for the longest.
type retries struct {
	delays workqueue.TypedRateLimiter[Request]

	mu  sync.Mutex
	due map[Request]time.Time
}

func newRetries() *retries {
	return &retries{
		delays: workqueue.NewTypedItemExponentialFailureRateLimiter[Request](firstRetry, lastRetry),
		due:    map[Request]time.Time{},
	}
}

// wait returns how long it is until the next try is due; zero: none is.
func (r *retries) wait(now time.Time, req Request) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left(now, req)
}

func (r *retries) left(now time.Time, req Request) time.Duration {
	// A wait beyond the longest is a clock that was set back.
	if wait := r.due[req].Sub(now); wait > 0 && wait <= lastRetry {
		return wait
	}
	return 0
}

// after returns how long to wait after a try that failed.
func (r *retries) after(now time.Time, req Request) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wait := r.left(now, req); wait > 0 {
		return wait
	}
	delay := r.delays.When(req)
	r.due[req] = now.Add(delay)
	return delay
}

// forget is called after a try that went well.
func (r *retries) forget(req Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.due, req)
	r.delays.Forget(req)
}
