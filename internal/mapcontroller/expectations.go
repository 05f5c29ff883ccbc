// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// expectationTimeout bounds how long a pass waits for the cache to show a write.
// It only matters when the event never comes, as when a watch is broken.
const expectationTimeout = 10 * time.Second

// expectations hold a key back until the cache shows what was last written for
// it. They save requests and nothing else: a write that is made twice finds its
// name taken, or its precondition failed.
type expectations struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	pending map[Request]map[expectation]time.Time
}

type expectation struct {
	id outputID
	// gone expects the object to be deleted, or being deleted.
	gone bool
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, pending: map[Request]map[expectation]time.Time{}}
}

// expect must be called before the write: the event may come before the answer.
func (e *expectations) expect(req Request, x expectation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending[req] == nil {
		e.pending[req] = map[expectation]time.Time{}
	}
	e.pending[req][x] = e.clock.Now().Add(expectationTimeout)
}

// met is called by events, and for writes that failed.
func (e *expectations) met(req Request, x expectation) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pending[req] == nil {
		return
	}
	delete(e.pending[req], x)
	if len(e.pending[req]) == 0 {
		delete(e.pending, req)
	}
}

// wait returns how long to hold a key back at most; zero: not at all.
func (e *expectations) wait(req Request) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	var longest time.Duration
	for x, until := range e.pending[req] {
		left := until.Sub(now)
		if left <= 0 || left > expectationTimeout { // over, or the clock was set back
			delete(e.pending[req], x)
			continue
		}
		longest = max(longest, left)
	}
	if len(e.pending[req]) == 0 {
		delete(e.pending, req)
	}
	return longest
}

func (e *expectations) forget(req Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.pending, req)
}
