// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// sharedFor is how long a live read is shared by the keys that need it at about
// the same time. It leaves the rest of confirmedFor for the other reads and for
// the deletes.
const sharedFor = 3 * time.Second

// shared makes each read at most once per sharedFor.
type shared[T any] struct {
	mu    sync.Mutex
	reads map[types.NamespacedName]*sharedRead[T]
}

type sharedRead[T any] struct {
	mu    sync.Mutex
	at    time.Time
	value T
}

// get returns what was read at most sharedFor ago, and when. An error is not
// shared.
func (s *shared[T]) get(
	ctx context.Context, c clock.PassiveClock, name types.NamespacedName, read func(context.Context) (T, error),
) (T, time.Time, error) {
	s.mu.Lock()
	if s.reads == nil {
		s.reads = map[types.NamespacedName]*sharedRead[T]{}
	}
	r := s.reads[name]
	if r == nil {
		r = &sharedRead[T]{}
		s.reads[name] = r
	}
	s.mu.Unlock()

	r.mu.Lock()
	defer r.mu.Unlock()
	// Without the monotonic reading, which stands still while a machine sleeps.
	now := c.Now().Round(0)
	if age := now.Sub(r.at); age >= 0 && age < sharedFor {
		return r.value, r.at, nil
	}
	value, err := read(ctx)
	if err != nil {
		r.at = time.Time{}
		s.forget(name)
		return value, now, err
	}
	r.at, r.value = now, value
	return value, now, nil
}

func (s *shared[T]) forget(name types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reads, name)
}
