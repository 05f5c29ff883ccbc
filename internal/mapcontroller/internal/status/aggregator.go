// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Aggregator holds the last status of every key of every parent, so that a
// parent's status costs no read of its objects.
//
// A key is decided when a pass has made its decision under the parent's generation: then
// it is known what it adds to the status, whatever its writes do. It is settled when such
// a pass has ended and no output has a reference that it should not have.
type Aggregator struct {
	// Changed is called with a parent one of whose keys changed. It is called under the lock,
	// and must not call the Aggregator.
	Changed func(types.NamespacedName)

	mu sync.Mutex
	// searched are the namespaces in which outputs have been looked for that lost their map key while
	// no manager ran, or NamespaceAll. No cache has them, and until then no parent is decided.
	searched map[string]bool
	epoch    Epoch
	parents  map[types.NamespacedName]*keys
}

// Epoch counts how often every key was made undecided. What a pass observed in an earlier
// one decides nothing.
type Epoch int64

// Epoch returns the present one.
func (a *Aggregator) Epoch() Epoch {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.epoch
}

// keys are those of one parent. A key that was still being reconciled for a
// parent that is gone must not enter those of the next parent of the name.
type keys struct {
	uid types.UID
	// generation is the last one under which all keys were looked for. The parent is
	// decided when all that were known then are.
	generation int64
	byID       map[string]*plan.KeyStatus
	// unsettled are the keys that are not settled: few, and none while nothing happens.
	unsettled map[string]bool
	// lost is set if an output may have lost its map key since the last search began, overtaken
	// if that is so of the search that has ended last: the status says what that one has found. Whoever changes
	// such outputs faster than they are listed would otherwise keep it from being written.
	lost, overtaken bool
}

// notReconciled is the status of every key that is known and was not reconciled
// yet.
var notReconciled = &plan.KeyStatus{}

// of returns the keys of a parent; nil if it is not tracked.
func (a *Aggregator) of(parent types.NamespacedName, uid types.UID) *keys {
	if k := a.parents[parent]; k != nil && k.uid == uid {
		return k
	}
	return nil
}

// Track returns the keys of a parent: those found, and all that are known, perhaps for
// an input that is no longer selected. Those found when the parent, or a generation of it,
// is new have to be decided before its status says anything. Those that appear later have
// not: something always appears.
func (a *Aggregator) Track(parent client.Object, found []string) []string {
	name := client.ObjectKeyFromObject(parent)
	defer a.Changed(name)
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of(name, parent.GetUID())
	if k == nil {
		k = &keys{uid: parent.GetUID(), byID: make(map[string]*plan.KeyStatus, len(found)), unsettled: map[string]bool{}}
		if a.parents == nil {
			a.parents = map[types.NamespacedName]*keys{}
		}
		a.parents[name] = k
	}
	all := maps.Clone(k.unsettled)
	for _, key := range found {
		all[key] = true
	}
	if k.generation != parent.GetGeneration() {
		k.generation = parent.GetGeneration()
		for key := range all {
			if k.byID[key] == nil {
				k.byID[key] = notReconciled
			}
		}
	}
	for key := range k.byID {
		all[key] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// Begin is called when a pass over a key begins, before its parent is read. What the pass
// makes as an older spec asks is not seen yet: a key that is not known is not settled until
// the pass has ended. A search makes nothing. It returns the present epoch.
func (a *Aggregator) Begin(req plan.Request) Epoch {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch k := a.parents[req.Parent]; {
	case k == nil:
	case req.IsSearch():
		k.lost = false
	case k.byID[req.MapKey] == nil:
		k.unsettled[req.MapKey] = true
	}
	return a.epoch
}

// AwaitSearch makes the search of a parent undecided: an output may have lost its map key. It
// counts until a search that begins later has found it, or that there is none.
func (a *Aggregator) AwaitSearch(parent types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.parents[parent]
	if k == nil {
		return
	}
	k.lost = true
	if known := k.byID[plan.NoMapKey]; !k.overtaken || known != nil && known.Generation == 0 {
		k.undecide(plan.NoMapKey)
	}
}

// Searched is called when all outputs without a map key have been found in a namespace, or in all, and
// AwaitSearch was called for their parents.
func (a *Aggregator) Searched(namespace string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for parent := range a.parents {
		if !a.hasSearched(parent.Namespace) && (namespace == metav1.NamespaceAll || namespace == parent.Namespace) {
			a.Changed(parent)
		}
	}
	if a.searched == nil {
		a.searched = map[string]bool{}
	}
	a.searched[namespace] = true
}

// hasSearched returns whether the parents of a namespace need not wait for the search.
func (a *Aggregator) hasSearched(namespace string) bool {
	return a.searched[metav1.NamespaceAll] || a.searched[namespace]
}

// change changes the keys of a parent, if they are tracked, and calls Changed if do returns so.
func (a *Aggregator) change(parent types.NamespacedName, uid types.UID, do func(*keys) (changed bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if k := a.of(parent, uid); k != nil && do(k) {
		a.Changed(parent)
	}
}

// Decide sets the status of a key before its decision is carried out. If it was decided
// under the generation before, only the counts are new: the status of that pass, which
// knows of its writes, stays until this one has ended. It returns the status that the key
// had. epoch is the one in which the pass began.
func (a *Aggregator) Decide(epoch Epoch, req plan.Request, uid types.UID, s plan.KeyStatus) (previous any) {
	a.change(req.Parent, uid, func(k *keys) bool {
		if epoch != a.epoch {
			s.Generation = 0
		}
		before := k.byID[req.MapKey]
		if before != nil {
			previous = before.Status
		}
		if req.IsSearch() {
			return false
		}
		if before != nil && before.Generation == s.Generation {
			s.Status = before.Status
			k.byID[req.MapKey] = &s // the one before may be in use
			return !slices.Equal(before.Counts, s.Counts)
		}
		k.unsettled[req.MapKey] = true
		k.set(req.MapKey, s)
		return true
	})
	return previous
}

// undecide makes a key undecided.
func (k *keys) undecide(key string) {
	again := *cmp.Or(k.byID[key], notReconciled) // a status may be in use
	again.Generation = 0
	k.byID[key] = &again
}

// set sets the status of a key; an empty one removes the key. If it is of another generation, a
// key that is known stays, undecided: it is reconciled again, and may have an input by then.
func (k *keys) set(key string, s plan.KeyStatus) {
	if s.Empty() && (s.Generation == k.generation || k.byID[key] == nil) {
		delete(k.byID, key)
		return
	}
	k.byID[key] = &s
}

// Decided returns whether a key was decided under a parent's generation.
func (a *Aggregator) Decided(req plan.Request, parent client.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of(req.Parent, parent.GetUID())
	return k != nil && k.byID[req.MapKey] != nil && k.byID[req.MapKey].Generation == parent.GetGeneration()
}

// Put sets the status of a key after a pass; an empty one removes the key. referred says
// that outputs have a reference that they should not have. Put does nothing for a parent
// that is not tracked: tracking it will reconcile all its keys. Changed is called only if
// anything did: a status is computed over all keys, and most passes change nothing.
func (a *Aggregator) Put(epoch Epoch, req plan.Request, uid types.UID, s plan.KeyStatus, referred bool) {
	a.change(req.Parent, uid, func(k *keys) bool {
		lost := req.IsSearch() && k.lost
		if epoch != a.epoch || lost && !k.overtaken {
			s.Generation = 0
		}
		if req.IsSearch() {
			k.overtaken = lost
		}
		before, was := k.byID[req.MapKey], k.unsettled[req.MapKey]
		k.set(req.MapKey, s)
		// Nothing else may ever reconcile a key of which nothing is left.
		if referred = referred && !s.Empty(); referred {
			k.unsettled[req.MapKey] = true
		} else {
			delete(k.unsettled, req.MapKey)
		}
		if s.Empty() {
			return before != nil || was != referred
		}
		return was != referred || before == nil || before.Generation != s.Generation ||
			!slices.Equal(before.Counts, s.Counts) || !reflect.DeepEqual(before.Status, s.Status)
	})
}

// Undecide makes every key of every parent undecided: the cache that the decisions were
// made on was not up to date. All keys have to be enqueued then: passes that began before
// decide nothing either.
func (a *Aggregator) Undecide() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.epoch++
	for _, k := range a.parents {
		for key := range k.byID {
			k.undecide(key)
		}
	}
}

// Forget drops a parent that is deleted.
func (a *Aggregator) Forget(parent types.NamespacedName, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of(parent, uid) != nil {
		delete(a.parents, parent)
	}
}

// Knows returns whether a parent has a key: whether it had an input or outputs
// of it when the key was last reconciled.
func (a *Aggregator) Knows(req plan.Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.parents[req.Parent]
	return k != nil && k.byID[req.MapKey] != nil
}

// Settled returns whether every key of a parent is settled under its generation.
func (a *Aggregator) Settled(parent client.Object) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of(client.ObjectKeyFromObject(parent), parent.GetUID())
	return k.decided(parent.GetGeneration()) && len(k.unsettled) == 0
}

// snapshot returns the statuses of all keys of a parent, and whether all were decided
// under its generation.
func (a *Aggregator) snapshot(parent client.Object) (all []*plan.KeyStatus, decided bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.of(client.ObjectKeyFromObject(parent), parent.GetUID())
	if !a.hasSearched(parent.GetNamespace()) || !k.decided(parent.GetGeneration()) {
		return nil, false
	}
	return slices.Collect(maps.Values(k.byID)), true
}

// decided returns whether all keys were decided under a generation. Outputs without a map
// key are in no cache: under a new generation nobody looks for them, and they are waited
// for only after AwaitSearch and Undecide.
func (k *keys) decided(generation int64) bool {
	if k == nil || k.generation != generation {
		return false
	}
	for key, s := range k.byID {
		if s.Generation != generation && (key != plan.NoMapKey || s.Generation == 0) {
			return false
		}
	}
	return true
}
