// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"sync"
	"time"
)

// Shares keeps one namespace from holding all workers, as it would while its
// admission hangs. A namespace holds at most as many workers as remain free: half of them
// when it is alone, 1/(k+2) beside k namespaces that hold all they can. So there is always
// a worker for a namespace that has none. A T is what is reconciled.
type Shares[T comparable] struct {
	Workers int
	// Patience is how long a key waits in its worker before it waits outside. In a
	// fan-out a share is free again within milliseconds, and a second pass over every
	// key would cost a quarter of the CPU.
	Patience time.Duration
	// Wake enqueues a key. It is called under the lock, and must not call the Shares.
	Wake func(T)

	mu         sync.Mutex
	busy       int
	namespaces map[string]*share[T]
}

// share is how many workers a namespace holds, which of its keys wait for one, which
// have been woken and are about to take theirs, and which wait in a worker until their
// channel is closed.
type share[T comparable] struct {
	busy    int
	waiting fifo[T]
	woken   map[T]bool
	blocked []chan struct{}
}

// Enter returns whether a key may be reconciled now. Otherwise it waits, and is
// enqueued when a worker of its namespace is free again: it has at least one.
func (s *Shares[T]) Enter(namespace string, key T) bool {
	entered, granted := s.enter(namespace, key)
	if granted == nil {
		return entered
	}
	select {
	case <-granted:
		return true
	case <-time.After(s.Patience):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.namespaces[namespace]
	if i := slices.Index(n.blocked, granted); i >= 0 {
		n.blocked = slices.Delete(n.blocked, i, i+1)
		n.waiting.push(key)
		return false
	}
	return true // granted meanwhile
}

// enter returns whether a key may be reconciled now or, if it is worth waiting, what is
// closed when it may be. It is not while others of the namespace wait outside.
func (s *Shares[T]) enter(namespace string, key T) (entered bool, granted chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces == nil {
		s.namespaces = map[string]*share[T]{}
	}
	n := s.namespaces[namespace]
	if n == nil {
		n = &share[T]{woken: map[T]bool{}}
		s.namespaces[namespace] = n
	}
	switch {
	case n.woken[key]:
		delete(n.woken, key)
	case s.free(n) > 0:
		s.busy++
		n.busy++
	case n.waiting.len() == 0:
		granted = make(chan struct{})
		n.blocked = append(n.blocked, granted)
		return false, granted
	default:
		n.waiting.push(key)
		return false, nil
	}
	return true, nil
}

// Leave ends the reconciliation of a key of a namespace that entered.
func (s *Shares[T]) Leave(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.namespaces[namespace]
	s.busy--
	n.busy--
	for s.free(n) > 0 && (n.waiting.len() > 0 || len(n.blocked) > 0) {
		// The worker is kept for the key: others that come first would overtake it for
		// ever.
		s.busy++
		n.busy++
		if key, ok := n.waiting.pop(); ok {
			n.woken[key] = true
			s.Wake(key)
		} else {
			close(n.blocked[0])
			n.blocked = n.blocked[1:]
		}
	}
	if n.busy == 0 && n.waiting.len() == 0 {
		delete(s.namespaces, namespace)
	}
}

// free returns how many more workers a namespace may hold.
func (s *Shares[T]) free(n *share[T]) int { return max(1, s.Workers-s.busy) - n.busy }
