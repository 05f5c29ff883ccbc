// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Steady remembers since when this process has seen the same inputs of a key. It has an entry for each key with a selected input
// of the parents whose programs have keys of their own.
type Steady struct {
	// After is how long inputs must be the same before a change of them begins anew.
	After time.Duration

	mu      sync.Mutex
	parents map[types.NamespacedName]map[string]steady
}

// steady is the inputs of a key.
type steady struct {
	inputs      uint64
	same, began time.Time
}

var seed = maphash.MakeSeed()

// Observe returns since when a key has had the same inputs, and since when it has not had the same ones for After.
func (s *Steady) Observe(req plan.Request, selected []client.Object, now time.Time) (same, began time.Time) {
	var inputs uint64 // in any order
	for _, o := range selected {
		inputs += maphash.String(seed, string(o.GetUID()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := s.parents[req.Parent]
	if len(selected) == 0 {
		if delete(keys, req.MapKey); len(keys) == 0 {
			delete(s.parents, req.Parent)
		}
		return same, began
	}
	known, ok := keys[req.MapKey]
	if ok && known.inputs == inputs && !known.same.After(now) { // else the clock was set back
		return known.same, known.began
	}
	if passed := now.Sub(known.same); !ok || passed < 0 || passed >= s.After {
		known.began = now
	}
	known.inputs, known.same = inputs, now
	if keys == nil {
		if s.parents == nil {
			s.parents = map[types.NamespacedName]map[string]steady{}
		}
		keys = map[string]steady{}
		s.parents[req.Parent] = keys
	}
	keys[req.MapKey] = known
	return known.same, known.began
}

// ForgetParent forgets all keys of a parent.
func (s *Steady) ForgetParent(parent types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.parents, parent)
}
