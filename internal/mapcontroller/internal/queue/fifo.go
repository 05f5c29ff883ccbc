// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

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
