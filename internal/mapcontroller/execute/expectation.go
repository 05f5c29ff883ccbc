// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"time"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// expectationTimeout bounds how long a key waits for the cache to show a write.
// It matters only if the event never comes, as when a watch is broken.
const expectationTimeout = 10 * time.Second

// expectation is a write that the cache does not show yet. Holding the key back
// saves requests and nothing else: a write that is made twice finds its name
// taken or its precondition failed.
type expectation struct {
	id plan.ID
	// deleted expects the object to be deleted, or to be being deleted.
	deleted bool
}

// expect must be called before the write: the event may come before the
// response.
func (a *Attempts) expect(req plan.Request, x expectation) {
	a.change(req, func(s *attempt) {
		if s.expected == nil {
			s.expected = map[expectation]time.Time{}
		}
		s.expected[x] = a.clock.Now().Add(expectationTimeout)
	})
}

// met ends an expectation, and returns whether there was one.
func (a *Attempts) met(req plan.Request, x expectation) (expected bool) {
	if !a.known(req) {
		return false
	}
	a.change(req, func(s *attempt) {
		_, expected = s.expected[x]
		delete(s.expected, x)
	})
	return expected
}

// Shown reports that the cache shows an output of a key.
func (a *Attempts) Shown(req plan.Request, id plan.ID) { a.met(req, expectation{id: id}) }

// Deleted reports that the cache shows an output of a key as deleted or being
// deleted. It returns whether our own delete was waiting for that.
func (a *Attempts) Deleted(req plan.Request, id plan.ID) bool {
	return a.met(req, expectation{id: id, deleted: true})
}

// Expects returns for how long to hold a key back at most; zero: not at all.
func (a *Attempts) Expects(req plan.Request) time.Duration {
	if !a.known(req) {
		return 0
	}
	now := a.clock.Now()
	var longest time.Duration
	a.change(req, func(s *attempt) {
		for x, until := range s.expected {
			left := until.Sub(now)
			if left <= 0 || left > expectationTimeout { // expired, or the clock was set back
				delete(s.expected, x)
				continue
			}
			longest = max(longest, left)
		}
	})
	return longest
}
