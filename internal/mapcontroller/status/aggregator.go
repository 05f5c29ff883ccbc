// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Aggregator holds the last status of every key of every parent, so that a
// parent's status costs no read of its objects.
type Aggregator struct {
	// Changed is called with a parent one of whose keys changed.
	Changed func(types.NamespacedName)

	mu      sync.Mutex
	parents map[types.NamespacedName]keys
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

// keys returns those of a parent; nil if it is not tracked.
func (a *Aggregator) keys(parent types.NamespacedName, uid types.UID) map[string]*plan.KeyStatus {
	if k := a.parents[parent]; k.uid == uid {
		return k.byID
	}
	return nil
}

// Track makes the keys of a parent known, and returns all that are: a key may be
// known for an input that is no longer selected.
func (a *Aggregator) Track(parent types.NamespacedName, uid types.UID, found []string) []string {
	defer a.Changed(parent)
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.keys(parent, uid)
	if known == nil {
		known = make(map[string]*plan.KeyStatus, len(found))
		if a.parents == nil {
			a.parents = map[types.NamespacedName]keys{}
		}
		a.parents[parent] = keys{uid: uid, byID: known}
	}
	for _, key := range found {
		if known[key] == nil {
			known[key] = notReconciled
		}
	}
	return slices.Sorted(maps.Keys(known))
}

// Begin makes a key known at the begin of a pass, before its parent is read. What the
// pass makes as an older spec asks is not seen yet: the parent is not settled until it
// has ended. Without a map key a pass makes nothing.
func (a *Aggregator) Begin(req plan.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.parents[req.Parent].byID; known != nil && known[req.MapKey] == nil && req.MapKey != "" {
		known[req.MapKey] = notReconciled
	}
}

// Settled returns whether every key of a parent was reconciled under its generation.
func (a *Aggregator) Settled(parent client.Object) bool {
	_, settled, tracked := a.snapshot(parent)
	return settled && tracked
}

// Previous returns the decision's status that a key was last put with, or nil.
func (a *Aggregator) Previous(req plan.Request, uid types.UID) any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.keys(req.Parent, uid)[req.MapKey]; s != nil {
		return s.Status
	}
	return nil
}

// Put sets the status of a key; an empty one removes the key. It does nothing for a
// parent that is not tracked: tracking it will reconcile all its keys. Changed is
// called only if anything did: a status is computed over all keys, and most passes
// change nothing.
func (a *Aggregator) Put(req plan.Request, uid types.UID, s plan.KeyStatus) {
	if a.put(req, uid, s) {
		a.Changed(req.Parent)
	}
}

func (a *Aggregator) put(req plan.Request, uid types.UID, s plan.KeyStatus) (changed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.keys(req.Parent, uid)
	before := known[req.MapKey]
	switch {
	case known == nil:
		return false
	case s.Empty():
		delete(known, req.MapKey)
		return before != nil
	}
	known[req.MapKey] = &s
	return before == nil || before.Generation != s.Generation || !slices.Equal(before.Counts, s.Counts) ||
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
	return a.parents[req.Parent].byID[req.MapKey] != nil
}

// snapshot returns the statuses of all keys of a parent, and whether all were
// reconciled under its generation. It is not ok before the parent is tracked.
func (a *Aggregator) snapshot(parent client.Object) (all []*plan.KeyStatus, settled, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.keys(client.ObjectKeyFromObject(parent), parent.GetUID())
	all = slices.Collect(maps.Values(known))
	old := slices.ContainsFunc(all, func(s *plan.KeyStatus) bool { return s.Generation < parent.GetGeneration() })
	return all, !old, known != nil
}
