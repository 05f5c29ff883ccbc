// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// turns are the lines of several parents, who take turns: the mass of one parent's keys
// delays one key of another by one turn, and one whose turns are long waits until the
// others have had as much.
type turns struct {
	order []types.NamespacedName
	lines map[types.NamespacedName]*line[plan.Request]
	// used is how much each parent has had; one that begins to wait counts as if it had had
	// as much as the last whose turn it was: least.
	used  map[types.NamespacedName]int
	least int
}

func (t *turns) push(req plan.Request) {
	l := t.lines[req.Parent]
	if l == nil {
		if t.lines == nil {
			t.lines, t.used = map[types.NamespacedName]*line[plan.Request]{}, map[types.NamespacedName]int{}
		}
		l = &line[plan.Request]{}
		t.lines[req.Parent], t.order = l, append(t.order, req.Parent)
		t.used[req.Parent] = max(t.used[req.Parent], t.least)
	}
	l.push(req)
}

// charge adds what a parent has had.
func (t *turns) charge(parent types.NamespacedName, n int) {
	if t.used == nil {
		t.used = map[types.NamespacedName]int{}
	}
	t.used[parent] = max(t.used[parent], t.least) + n
}

// leave removes a key. Its parent keeps its place in the order until it would be next.
func (t *turns) leave(req plan.Request) {
	if l := t.lines[req.Parent]; l != nil {
		l.leave(req)
	}
}

// pop returns the key of the parent that has had least, of several the one that has waited
// longest; not ok if none waits.
func (t *turns) pop() (req plan.Request, ok bool) {
	for len(t.order) > 0 && !ok {
		first := 0
		for i, parent := range t.order {
			if t.used[parent] < t.used[t.order[first]] {
				first = i
			}
		}
		parent := t.order[first]
		t.order = slices.Delete(t.order, first, first+1)
		t.least = max(t.least, t.used[parent])
		l := t.lines[parent]
		if req, ok = l.pop(); l.empty() {
			delete(t.lines, parent)
			delete(t.used, parent) // it counts as least from now on
		} else {
			t.order = append(t.order, parent)
		}
	}
	return req, ok
}

// len returns how many keys wait.
func (t *turns) len() (n int) {
	for _, l := range t.lines {
		n += l.len()
	}
	return n
}

func (t *turns) empty() bool { return t.len() == 0 }
