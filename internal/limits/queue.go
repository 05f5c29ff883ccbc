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
	// groups are the keys that weigh more than one.
	groups map[*waiter]bool
}

// waiter is a key that waits, since its last snapshot, for room of a weight. Of equal ones the
// first to arrive is first.
type waiter struct {
	req     Request
	since   time.Time
	weight  int
	arrival int
	// behind is the arrival of the last key that goes before it; zero if it was never postponed.
	behind int
	// passedOver is since when its namespace may not have as much as it weighs, which holds up the others
	// of its namespace; zero: it may, or another is next.
	passedOver time.Time
	// index in its heap.
	index int
}

func newQueue() queue {
	return queue{waiting: map[Request]*waiter{}, namespaces: newRing[*ring[*waiters]](), groups: map[*waiter]bool{}}
}

// push adds a key that does not wait.
func (q *queue) push(req Request, since time.Time, weight int) {
	q.arrivals++
	w := &waiter{req: req, since: since, arrival: q.arrivals}
	q.waiting[req] = w
	q.weigh(w, weight)
	schedules := q.namespaces.get(req.Parent.Namespace, func() *ring[*waiters] {
		r := newRing[*waiters]()
		return &r
	})
	heap.Push(schedules.get(req.Parent.Name, func() *waiters { return &waiters{} }), w)
}

// weigh sets the weight of a key.
func (q *queue) weigh(w *waiter, weight int) {
	w.weight = weight
	if weight > 1 {
		q.groups[w] = true
	} else {
		delete(q.groups, w)
		w.passedOver = time.Time{}
	}
}

// leave removes a key that waits.
func (q *queue) leave(req Request) {
	w := q.waiting[req]
	delete(q.groups, w)
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

// peek returns the next key, among the namespaces that may have one of its weight; not ok if
// there is none. A key that was postponed holds up no other schedule of its namespace.
func (q *queue) peek(may func(namespace string, weight int) bool) (w *waiter, ok bool) {
	for _, namespace := range q.namespaces.order {
		schedules := q.namespaces.members[namespace]
		for range schedules.order {
			if w = q.firstOf(namespace); may(namespace, w.weight) {
				return w, true
			}
			if !q.waitsBehind(w) {
				break
			}
			schedules.last(w.req.Parent.Name)
		}
	}
	return nil, false
}

// take removes the next key of its namespace, which is the last from then on.
func (q *queue) take(w *waiter) {
	q.last(w)
	q.leave(w.req)
}

// postpone makes a key wait again, after all that have arrived until then, or until an earlier time.
func (q *queue) postpone(w *waiter, now time.Time, behind int) {
	q.last(w)
	q.leave(w.req)
	q.push(w.req, now, w.weight)
	q.waiting[w.req].behind = behind
}

// waitsBehind returns whether a key that was postponed has others before it.
func (q *queue) waitsBehind(w *waiter) bool {
	if w.behind == 0 {
		return false
	}
	for _, other := range q.waiting {
		if other.arrival <= w.behind {
			return true
		}
	}
	w.behind = 0 // whatever arrives from now on comes after it
	return false
}

// last makes the namespace and the schedule of a key the last.
func (q *queue) last(w *waiter) {
	q.namespaces.last(w.req.Parent.Namespace)
	q.namespaces.members[w.req.Parent.Namespace].last(w.req.Parent.Name)
}

// firstOf returns the next key of a namespace.
func (q *queue) firstOf(namespace string) *waiter {
	schedules := q.namespaces.members[namespace]
	return (*schedules.members[schedules.order[0]])[0]
}

// alone returns whether no other key of a namespace waits.
func (q *queue) alone(namespace string) bool {
	schedules := q.namespaces.members[namespace]
	return len(schedules.order) == 1 && schedules.members[schedules.order[0]].Len() == 1
}

// first returns a key that waits, the same one until it leaves or others come before
// it.
func (q *queue) first() Request { return q.firstOf(q.namespaces.order[0]).req }

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
