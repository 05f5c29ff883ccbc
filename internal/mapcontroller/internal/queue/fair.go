// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// fair holds the waiting keys of several parents. The parent that has had least is next: the
// mass of one parent's keys delays one key of another by one pass, and one whose passes are
// long waits until the others have had as much.
type fair struct {
	order []types.NamespacedName
	keys  map[types.NamespacedName]*fifo[plan.Request]
	// used is how much each parent has had. A parent that begins to wait starts at least, which
	// is what the last chosen parent had, so that it cannot claim passes from the past.
	used  map[types.NamespacedName]int
	least int
}

func (f *fair) push(req plan.Request) {
	keys := f.keys[req.Parent]
	if keys == nil {
		if f.keys == nil {
			f.keys, f.used = map[types.NamespacedName]*fifo[plan.Request]{}, map[types.NamespacedName]int{}
		}
		keys = &fifo[plan.Request]{}
		f.keys[req.Parent], f.order = keys, append(f.order, req.Parent)
		f.used[req.Parent] = max(f.used[req.Parent], f.least)
	}
	keys.push(req)
}

// charge adds what a parent has had.
func (f *fair) charge(parent types.NamespacedName, n int) {
	if f.used == nil {
		f.used = map[types.NamespacedName]int{}
	}
	f.used[parent] = max(f.used[parent], f.least) + n
}

// remove removes a key. Its parent keeps its place in the order until it would be next.
func (f *fair) remove(req plan.Request) {
	if keys := f.keys[req.Parent]; keys != nil {
		keys.remove(req)
	}
}

// pop returns the key of the parent that has had least, of several the one that has waited
// longest; not ok if none waits.
func (f *fair) pop() (req plan.Request, ok bool) {
	for len(f.order) > 0 && !ok {
		first := 0
		for i, parent := range f.order {
			if f.used[parent] < f.used[f.order[first]] {
				first = i
			}
		}
		parent := f.order[first]
		f.order = slices.Delete(f.order, first, first+1)
		f.least = max(f.least, f.used[parent])
		keys := f.keys[parent]
		if req, ok = keys.pop(); keys.len() == 0 {
			delete(f.keys, parent)
			delete(f.used, parent) // it counts as least from now on
		} else {
			f.order = append(f.order, parent)
		}
	}
	return req, ok
}

// len returns how many keys wait.
func (f *fair) len() (n int) {
	for _, keys := range f.keys {
		n += keys.len()
	}
	return n
}

// fifo holds items that wait, each once.
type fifo[T comparable] struct {
	order   []T
	waiting map[T]bool
}

func (f *fifo[T]) push(item T) {
	if f.waiting == nil {
		f.waiting = map[T]bool{}
	}
	if !f.waiting[item] {
		f.waiting[item], f.order = true, append(f.order, item)
	}
}

// remove removes an item. It keeps its place in the order until it would be next.
func (f *fifo[T]) remove(item T) { delete(f.waiting, item) }

// pop returns the item that has waited longest; not ok if none waiting.
func (f *fifo[T]) pop() (item T, ok bool) {
	for len(f.order) > 0 && !ok {
		item, f.order = f.order[0], f.order[1:]
		ok = f.waiting[item]
		delete(f.waiting, item)
	}
	return item, ok
}

func (f *fifo[T]) len() int { return len(f.waiting) }
