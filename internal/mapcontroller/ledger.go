// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// ledger holds what every key of every parent last told of itself, so that a
// parent's status never costs a look at its objects.
type ledger[S any] struct {
	merge func(a, b S) S
	// changed is told of a parent whose account changed.
	changed func(types.NamespacedName)

	mu      sync.Mutex
	parents map[types.NamespacedName]*account[S]
}

// summary is what one key tells of itself.
type summary[S any] struct {
	// generation of the parent under which the key was looked at; zero: not yet.
	generation int64
	counts     []count
	note       S
}

type account[S any] struct {
	uid         types.UID
	keys        map[string]summary[S]
	notes       *fold[S]
	totals      map[counter]int
	generations map[int64]int
}

func newLedger[S any](merge func(a, b S) S, changed func(types.NamespacedName)) *ledger[S] {
	return &ledger[S]{merge: merge, changed: changed, parents: map[types.NamespacedName]*account[S]{}}
}

// account returns the parent's, if it was opened under this UID. A key that was
// still at work for a parent that went must not take the place of the next one
// of that name.
func (l *ledger[S]) account(parent types.NamespacedName, uid types.UID) *account[S] {
	if a := l.parents[parent]; a != nil && a.uid == uid {
		return a
	}
	return nil
}

// open says that these are keys of the parent, and returns all that are known:
// a key may be known for an input that is no longer selected.
func (l *ledger[S]) open(parent types.NamespacedName, uid types.UID, keys []string) []string {
	l.mu.Lock()
	a := l.account(parent, uid)
	if a == nil {
		a = &account[S]{
			uid:         uid,
			keys:        map[string]summary[S]{},
			notes:       newFold(l.merge),
			totals:      map[counter]int{},
			generations: map[int64]int{},
		}
		l.parents[parent] = a
	}
	for _, key := range keys {
		if _, known := a.keys[key]; !known {
			a.set(key, summary[S]{})
		}
	}
	all := make([]string, 0, len(a.keys))
	for key := range a.keys {
		all = append(all, key)
	}
	l.mu.Unlock()
	slices.Sort(all)
	l.changed(parent)
	return all
}

// put does nothing for a parent that is not open: opening it wakes all its keys.
func (l *ledger[S]) put(req Request, uid types.UID, s summary[S]) {
	l.mu.Lock()
	a := l.account(req.Parent, uid)
	if a != nil {
		a.set(req.MapKey, s)
	}
	l.mu.Unlock()
	if a != nil {
		l.changed(req.Parent)
	}
}

func (l *ledger[S]) remove(req Request, uid types.UID) {
	l.mu.Lock()
	known := false
	if a := l.account(req.Parent, uid); a != nil {
		known = a.drop(req.MapKey)
	}
	l.mu.Unlock()
	if known {
		l.changed(req.Parent)
	}
}

// forget drops a parent that is gone.
func (l *ledger[S]) forget(parent types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.parents, parent)
}

// knows tells whether a parent has, or had when it was last looked at, an input
// or outputs of a key.
func (l *ledger[S]) knows(req Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.parents[req.Parent]
	if a == nil {
		return false
	}
	_, known := a.keys[req.MapKey]
	return known
}

// read returns the totals and the folded note of a parent, and whether all keys
// have been looked at under a generation. It is not ok before the parent's keys
// are known.
func (l *ledger[S]) read(parent types.NamespacedName, uid types.UID, generation int64) (t *Totals, note S, settled, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(parent, uid)
	if a == nil {
		return nil, note, false, false
	}
	settled = true
	for g := range a.generations {
		settled = settled && g >= generation
	}
	return newTotals(a.totals), a.notes.all(), settled, true
}

func (a *account[S]) set(key string, s summary[S]) {
	a.add(a.keys[key], -1)
	if old, known := a.keys[key]; known {
		a.leave(old.generation)
	}
	a.keys[key] = s
	a.generations[s.generation]++
	a.add(s, 1)
	a.notes.set(key, s.note)
}

func (a *account[S]) drop(key string) bool {
	old, known := a.keys[key]
	if !known {
		return false
	}
	a.add(old, -1)
	a.leave(old.generation)
	delete(a.keys, key)
	a.notes.remove(key)
	return true
}

func (a *account[S]) leave(generation int64) {
	if a.generations[generation]--; a.generations[generation] == 0 {
		delete(a.generations, generation)
	}
}

func (a *account[S]) add(s summary[S], sign int) {
	for _, c := range s.counts {
		if a.totals[c.counter] += sign * c.n; a.totals[c.counter] == 0 {
			delete(a.totals, c.counter)
		}
	}
}
