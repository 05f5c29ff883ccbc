// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// turns are the lines of several parents, who take turns: the mass of one parent's keys
// delays one key of another by one turn.
type turns struct {
	order []types.NamespacedName
	lines map[types.NamespacedName]*line
}

func (t *turns) push(req plan.Request) {
	l := t.lines[req.Parent]
	if l == nil {
		if t.lines == nil {
			t.lines = map[types.NamespacedName]*line{}
		}
		l = &line{}
		t.lines[req.Parent], t.order = l, append(t.order, req.Parent)
	}
	l.push(req)
}

// leave removes a key. Its parent keeps its place in the order until it would be next.
func (t *turns) leave(req plan.Request) {
	if l := t.lines[req.Parent]; l != nil {
		l.leave(req)
	}
}

// pop returns the key of the next parent that has waited longest; not ok if none waits.
func (t *turns) pop() (req plan.Request, ok bool) {
	for len(t.order) > 0 && !ok {
		parent := t.order[0]
		t.order = t.order[1:]
		l := t.lines[parent]
		if req, ok = l.pop(); l.empty() {
			delete(t.lines, parent)
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
