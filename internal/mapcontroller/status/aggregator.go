// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Aggregator holds the last status of every key of every parent, so that a
// parent's status costs no read of its objects.
type Aggregator struct {
	// Changed is called with a parent one of whose keys changed.
	Changed func(types.NamespacedName)

	mu      sync.Mutex
	parents map[types.NamespacedName]*keys
}

// keys are those of one parent. A key that was still being reconciled for a
// parent that is gone must not enter those of the next parent of the name.
type keys struct {
	uid  types.UID
	byID map[string]*plan.KeyStatus
}

// notReconciled is the status of every key that is known and was not reconciled
// yet.
var notReconciled = &plan.KeyStatus{}

func (a *Aggregator) keys(parent types.NamespacedName, uid types.UID) *keys {
	if k := a.parents[parent]; k != nil && k.uid == uid {
		return k
	}
	return nil
}

// Track makes the keys of a parent known, and returns all that are: a key may be
// known for an input that is no longer selected.
func (a *Aggregator) Track(parent types.NamespacedName, uid types.UID, found []string) []string {
	a.mu.Lock()
	k := a.keys(parent, uid)
	if k == nil {
		k = &keys{uid: uid, byID: make(map[string]*plan.KeyStatus, len(found))}
		if a.parents == nil {
			a.parents = map[types.NamespacedName]*keys{}
		}
		a.parents[parent] = k
	}
	for _, key := range found {
		if _, known := k.byID[key]; !known {
			k.byID[key] = notReconciled
		}
	}
	all := slices.Sorted(maps.Keys(k.byID))
	a.mu.Unlock()
	a.Changed(parent)
	return all
}

// Previous returns the decision's status that a key was last put with, or nil.
func (a *Aggregator) Previous(req plan.Request, uid types.UID) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k := a.keys(req.Parent, uid); k != nil {
		if s := k.byID[req.MapKey]; s != nil {
			return s.Status
		}
	}
	return nil
}

// Put sets the status of a key; nil removes the key. It does nothing for a parent
// that is not tracked: tracking it will reconcile all its keys.
func (a *Aggregator) Put(req plan.Request, uid types.UID, s *plan.KeyStatus) {
	if a.put(req, uid, s) {
		a.Changed(req.Parent)
	}
}

// put returns whether anything changed: a status is computed over all keys, and
// most passes change nothing.
func (a *Aggregator) put(req plan.Request, uid types.UID, s *plan.KeyStatus) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.keys(req.Parent, uid)
	if k == nil {
		return false
	}
	before, known := k.byID[req.MapKey]
	if s == nil {
		delete(k.byID, req.MapKey)
		return known
	}
	k.byID[req.MapKey] = s
	return !known || before.Generation != s.Generation || !slices.Equal(before.Counts, s.Counts) ||
		!reflect.DeepEqual(before.Status, s.Status)
}

// Forget drops a parent that is deleted.
func (a *Aggregator) Forget(parent types.NamespacedName, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keys(parent, uid) != nil {
		delete(a.parents, parent)
	}
}

// Knows returns whether a parent has a key: whether it had an input or outputs
// of it when the key was last reconciled.
func (a *Aggregator) Knows(req plan.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.parents[req.Parent]
	if k == nil {
		return false
	}
	_, known := k.byID[req.MapKey]
	return known
}

// snapshot returns the statuses of all keys of a parent, and whether all were
// reconciled under a generation. It is not ok before the parent is tracked.
func (a *Aggregator) snapshot(parent types.NamespacedName, uid types.UID, generation int64) (all []*plan.KeyStatus, settled, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.keys(parent, uid)
	if k == nil {
		return nil, false, false
	}
	settled = true
	all = make([]*plan.KeyStatus, 0, len(k.byID))
	for _, s := range k.byID {
		settled = settled && s.Generation >= generation
		all = append(all, s)
	}
	return all, settled, true
}
