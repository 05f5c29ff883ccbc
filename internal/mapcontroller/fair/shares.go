// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"sync"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Shares keeps one namespace from holding all workers, as it would while its
// admission hangs. A namespace may hold as many as would be left free: alone half of
// them; beside k others that hold all they can, one part of k+2. So there is always a
// worker for a namespace that has none.
type Shares struct {
	Workers int
	// Wake enqueues a key. It is called without any lock.
	Wake func(plan.Request)

	mu         sync.Mutex
	busy       int
	namespaces map[string]*share
}

// share is how many workers a namespace holds, which of its keys wait for one, and
// which have been woken and are about to take theirs.
type share struct {
	busy  int
	line  line
	woken map[plan.Request]bool
}

// Enter returns whether a key may be reconciled now. Otherwise it waits, and is
// enqueued when a worker of its namespace is free again: it has at least one.
func (s *Shares) Enter(req plan.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.namespaces == nil {
		s.namespaces = map[string]*share{}
	}
	n := s.namespaces[req.Parent.Namespace]
	if n == nil {
		n = &share{woken: map[plan.Request]bool{}}
		s.namespaces[req.Parent.Namespace] = n
	}
	if n.woken[req] {
		delete(n.woken, req)
		return true
	}
	if s.free(n) <= 0 {
		n.line.push(req)
		return false
	}
	s.busy++
	n.busy++
	return true
}

// Leave ends the reconciliation of a key that entered.
func (s *Shares) Leave(req plan.Request) {
	for _, next := range s.leave(req.Parent.Namespace) {
		s.Wake(next)
	}
}

func (s *Shares) leave(namespace string) (next []plan.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.namespaces[namespace]
	s.busy--
	n.busy--
	for s.free(n) > 0 {
		req, ok := n.line.pop()
		if !ok {
			break
		}
		// Its worker is kept for it: others that come first would overtake it for ever.
		n.woken[req] = true
		s.busy++
		n.busy++
		next = append(next, req)
	}
	if n.busy == 0 && n.line.empty() {
		delete(s.namespaces, namespace)
	}
	return next
}

// free returns how many more workers a namespace may hold.
func (s *Shares) free(n *share) int { return max(1, s.Workers-s.busy) - n.busy }
