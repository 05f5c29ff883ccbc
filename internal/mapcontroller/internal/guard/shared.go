// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"mapcontroller.dev/snapshotschedule/internal/transport"
)

// sharedFor is how long a live read is shared by the keys that need it at about
// the same time. It leaves the rest of confirmedFor for the other reads and for
// the deletes.
const sharedFor = 3 * time.Second

// shared makes each read at most once per sharedFor. K is what is read.
type shared[K comparable, T any] struct {
	mu    sync.Mutex
	since time.Time
	reads map[K]*sharedRead[T]
}

type sharedRead[T any] struct {
	mu    sync.Mutex
	at    time.Time
	skew  *transport.Skew
	value T
}

// get returns what was read at most sharedFor ago, and when. The difference between
// the clocks that was seen then counts for everyone who shares the read. An error is
// not shared.
func (s *shared[K, T]) get(
	ctx context.Context, c clock.PassiveClock, name K, read func(context.Context) (T, error),
) (T, time.Time, error) {
	s.mu.Lock()
	// Without the monotonic reading, which stands still while a machine sleeps.
	now := c.Now().Round(0)
	if age := now.Sub(s.since); age < 0 || age >= sharedFor {
		s.since, s.reads = now, map[K]*sharedRead[T]{}
	}
	r := s.reads[name]
	if r == nil {
		r = &sharedRead[T]{}
		s.reads[name] = r
	}
	s.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() {
		at := c.Now().Round(0)
		reading, observed := transport.WithSkew(ctx)
		value, err := read(reading)
		if err != nil {
			return value, at, err
		}
		r.at, r.value, r.skew = at, value, observed
	}
	r.skew.AddTo(ctx)
	return r.value, r.at, nil
}

// reset shares no earlier read any more.
func (s *shared[K, T]) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
}
