// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"container/heap"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// queue holds the keys that wait. It goes round the namespaces, in each of them round the
// schedules, and of a schedule the key that has waited longest for a snapshot is next.
type queue struct {
	waiting    map[Request]*waiter
	namespaces ring[*ring[*waiters]]
	arrivals   int
}

// waiter is a key that waits, since its last snapshot. Of equal ones the first to
// arrive is first.
type waiter struct {
	req     Request
	since   time.Time
	arrival int
	// index in its heap.
	index int
}

func newQueue() queue {
	return queue{waiting: map[Request]*waiter{}, namespaces: newRing[*ring[*waiters]]()}
}

// push adds a key that does not wait.
func (q *queue) push(req Request, since time.Time) {
	q.arrivals++
	w := &waiter{req: req, since: since, arrival: q.arrivals}
	q.waiting[req] = w
	schedules := q.namespaces.get(req.Parent.Namespace, func() *ring[*waiters] {
		r := newRing[*waiters]()
		return &r
	})
	heap.Push(schedules.get(req.Parent.Name, func() *waiters { return &waiters{} }), w)
}

// leave removes a key that waits.
func (q *queue) leave(req Request) {
	w := q.waiting[req]
	delete(q.waiting, req)
	schedules := q.namespaces.members[req.Parent.Namespace]
	keys := schedules.members[req.Parent.Name]
	heap.Remove(keys, w.index)
	if keys.Len() == 0 {
		schedules.remove(req.Parent.Name)
	}
	if len(schedules.order) == 0 {
		q.namespaces.remove(req.Parent.Namespace)
	}
}

// of returns the keys of a parent.
func (q *queue) of(parent types.NamespacedName) (keys []Request) {
	if schedules := q.namespaces.members[parent.Namespace]; schedules != nil && schedules.members[parent.Name] != nil {
		for _, w := range *schedules.members[parent.Name] {
			keys = append(keys, w.req)
		}
	}
	return keys
}

// next removes and returns the next key, among the namespaces that may have one; not ok
// if there is none.
func (q *queue) next(may func(namespace string) bool) (req Request, ok bool) {
	i := slices.IndexFunc(q.namespaces.order, may)
	if i < 0 {
		return req, false
	}
	namespace := q.namespaces.order[i]
	schedules := q.namespaces.members[namespace]
	req = (*schedules.members[schedules.order[0]])[0].req
	q.namespaces.last(namespace)
	schedules.last(req.Parent.Name)
	q.leave(req)
	return req, true
}

// first returns a key that waits, the same one until it leaves or others come before
// it.
func (q *queue) first() Request {
	schedules := q.namespaces.members[q.namespaces.order[0]]
	return (*schedules.members[schedules.order[0]])[0].req
}

// ring holds members in the order in which they are next, by name.
type ring[T any] struct {
	order   []string
	members map[string]T
}

func newRing[T any]() ring[T] { return ring[T]{members: map[string]T{}} }

// get returns a member. A new one is next after all others.
func (r *ring[T]) get(name string, create func() T) T {
	member, ok := r.members[name]
	if !ok {
		member = create()
		r.members[name], r.order = member, append(r.order, name)
	}
	return member
}

func (r *ring[T]) remove(name string) {
	delete(r.members, name)
	r.order = slices.DeleteFunc(r.order, func(s string) bool { return s == name })
}

// last makes a member the last.
func (r *ring[T]) last(name string) {
	if i := slices.Index(r.order, name); i >= 0 {
		r.order = append(slices.Delete(r.order, i, i+1), name)
	}
}

// waiters implements heap.Interface: the key that has waited longest is first.
type waiters []*waiter

func (h waiters) Len() int { return len(h) }

func (h waiters) Less(i, j int) bool {
	if c := h[i].since.Compare(h[j].since); c != 0 {
		return c < 0
	}
	return h[i].arrival < h[j].arrival
}

func (h waiters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

// Pop implements heap.Interface.
func (h *waiters) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return w
}
