// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import "container/list"

// ring holds members by name, in the order in which they are next.
type ring[T any] struct {
	order   *list.List
	members map[string]*list.Element
}

// member is one of a ring. Of two members, of whichever rings of a queue, the one with the smaller position is next.
type member[T any] struct {
	name     string
	position int
	of       T
}

func newRing[T any]() ring[T] { return ring[T]{order: list.New(), members: map[string]*list.Element{}} }

func (r *ring[T]) empty() bool { return len(r.members) == 0 }

// first returns the element of the next member. To go on, use Next.
func (r *ring[T]) first() *list.Element { return r.order.Front() }

func memberOf[T any](e *list.Element) *member[T] { return e.Value.(*member[T]) }

// find returns a member, or nil.
func (r *ring[T]) find(name string) *member[T] {
	if e := r.members[name]; e != nil {
		return memberOf[T](e)
	}
	return nil
}

// get returns a member. A new one is next after all others.
func (r *ring[T]) get(name string, position int, create func() T) *member[T] {
	if m := r.find(name); m != nil {
		return m
	}
	m := &member[T]{name: name, position: position, of: create()}
	r.members[name] = r.order.PushBack(m)
	return m
}

func (r *ring[T]) remove(name string) {
	r.order.Remove(r.members[name])
	delete(r.members, name)
}

// last makes a member the last, if there is one of the name.
func (r *ring[T]) last(name string, position int) {
	if e := r.members[name]; e != nil {
		memberOf[T](e).position = position
		r.order.MoveToBack(e)
	}
}

// ordered implements heap.Interface. Each of its items knows its index, so that it can be removed.
type ordered[T any] struct {
	all    []T
	before func(a, b T) bool
	index  func(T) *int
}

func (h *ordered[T]) Len() int           { return len(h.all) }
func (h *ordered[T]) Less(i, j int) bool { return h.before(h.all[i], h.all[j]) }

func (h *ordered[T]) Swap(i, j int) {
	h.all[i], h.all[j] = h.all[j], h.all[i]
	*h.index(h.all[i]), *h.index(h.all[j]) = i, j
}

// Push implements heap.Interface.
func (h *ordered[T]) Push(x any) {
	*h.index(x.(T)) = len(h.all)
	h.all = append(h.all, x.(T))
}

// Pop implements heap.Interface.
func (h *ordered[T]) Pop() any {
	last := h.all[len(h.all)-1]
	clear(h.all[len(h.all)-1:])
	h.all = h.all[:len(h.all)-1]
	return last
}
