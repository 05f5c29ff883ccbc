// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// maxKeyIndexes is how many indexes of programs there are at most: each costs memory and a little of each event of an input, none
// can be removed, and whoever writes specs makes up their names. Programs beyond go through all inputs.
const maxKeyIndexes = 16

// maxKeyIndexesOfScope is how many of them one namespace may add, so that others get theirs.
const maxKeyIndexesOfScope = 2

// keyIndexes are the indexes of programs by their names. They are added when the first program needs them.
type keyIndexes struct {
	mu    sync.Mutex
	known map[string]informer.Index
	// added is how many of them each namespace has added.
	added map[string]int
}

// sharing returns the inputs of a kind that may share a key of a program.
func (l *Objects) sharing(parent plan.Parent, kind client.Object, mapKey string) []client.Object {
	scope := parent.Object.GetNamespace()
	by := parent.Program.KeyIndex
	if by == nil {
		return l.stores.List(kind, scope)
	}
	index, ok := l.keyIndex(by, scope)
	if !ok {
		return l.stores.List(kind, scope)
	}
	return l.stores.ByIndex(nil, kind, index, scope+"/"+by.Of(mapKey))
}

// keyIndex returns the index of a program of a namespace, in all stores of inputs; false if there are too many.
func (l *Objects) keyIndex(by *plan.KeyIndex, scope string) (informer.Index, bool) {
	l.byKeyOf.mu.Lock()
	defer l.byKeyOf.mu.Unlock()
	index, known := l.byKeyOf.known[by.Name]
	if known || len(l.byKeyOf.known) >= maxKeyIndexes || l.byKeyOf.added[scope] >= maxKeyIndexesOfScope {
		return index, known
	}
	value := by.Value
	index = informer.Index{Name: l.byKey.Name + "/" + by.Name, Values: func(input client.Object) []string {
		if found := value(input); found != "" {
			return []string{l.Scope(input) + "/" + found}
		}
		return nil
	}}
	for i := range l.kinds.Inputs {
		l.stores.AddIndex(l.kinds.Inputs[i].Object, index)
	}
	if l.byKeyOf.known == nil {
		l.byKeyOf.known, l.byKeyOf.added = map[string]informer.Index{}, map[string]int{}
	}
	l.byKeyOf.added[scope]++
	l.byKeyOf.known[by.Name] = index
	return index, true
}
