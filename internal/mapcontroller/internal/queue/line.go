// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

// line holds items that wait, each once.
type line[T comparable] struct {
	order []T
	waits map[T]bool
}

func (l *line[T]) push(item T) {
	if l.waits == nil {
		l.waits = map[T]bool{}
	}
	if !l.waits[item] {
		l.waits[item], l.order = true, append(l.order, item)
	}
}

// leave removes an item. It keeps its place in the order until it would be next.
func (l *line[T]) leave(item T) { delete(l.waits, item) }

// pop returns the item that has waited longest; not ok if none waits.
func (l *line[T]) pop() (item T, ok bool) {
	for len(l.order) > 0 && !ok {
		item, l.order = l.order[0], l.order[1:]
		ok = l.waits[item]
		delete(l.waits, item)
	}
	return item, ok
}

func (l *line[T]) len() int { return len(l.waits) }

func (l *line[T]) empty() bool { return l.len() == 0 }
