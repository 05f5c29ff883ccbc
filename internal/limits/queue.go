// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The kinds of keys: those that weigh 1 find room wherever there is any, and groups may find too little.
const (
	kindSingle = iota
	kindGroup
	kindCount
)

// queue holds the keys that wait. Of each kind, it goes round the namespaces, in each of them round the
// schedules, and of a schedule the key that has waited longest for a snapshot is next.
type queue struct {
	waiting map[Request]*waiter
	// namespaces are those of which keys of each kind wait, and keys is how many of each namespace do.
	namespaces [kindCount]ring[schedules]
	keys       map[string]int
	// arrivals and positions count keys and members of rings.
	arrivals, positions int
}

// schedules are those of a namespace of which keys wait.
type schedules struct{ ring[*waiters] }

// waiter is a key that waits, since its last snapshot, for room of a weight. Of equal ones the
// first to arrive is first.
type waiter struct {
	req     Request
	since   time.Time
	weight  int
	arrival int
	// noRoom is set if it is a group that found no room while the driver was reserved for it.
	noRoom bool
	// index in its heap.
	index int
}

func (w *waiter) namespace() string { return w.req.Parent.Namespace }

func (w *waiter) kind() int { return kindOf(w.weight) }

func kindOf(weight int) int {
	if weight > 1 {
		return kindGroup
	}
	return kindSingle
}

func newQueue() queue {
	return queue{
		waiting: map[Request]*waiter{}, keys: map[string]int{},
		namespaces: [kindCount]ring[schedules]{newRing[schedules](), newRing[schedules]()},
	}
}

// push adds a key that does not wait.
func (q *queue) push(w *waiter) {
	q.arrivals++
	w.arrival = q.arrivals
	q.waiting[w.req] = w
	q.keys[w.namespace()]++
	namespace := q.namespaces[w.kind()].get(w.namespace(), q.nextPosition(), func() schedules { return schedules{newRing[*waiters]()} })
	heap.Push(namespace.of.get(w.req.Parent.Name, q.positions, newWaiters).of, w)
}

func (q *queue) nextPosition() int { q.positions++; return q.positions }

// weigh sets the weight of a key that waits: the group may have changed.
func (q *queue) weigh(w *waiter, weight int) {
	if kindOf(weight) == w.kind() {
		w.weight = weight
		return
	}
	q.leave(w.req)
	w.weight = weight
	q.push(w)
}

// leave removes a key that waits.
func (q *queue) leave(req Request) {
	w := q.waiting[req]
	delete(q.waiting, req)
	if q.keys[w.namespace()]--; q.keys[w.namespace()] == 0 {
		delete(q.keys, w.namespace())
	}
	namespaces := &q.namespaces[w.kind()]
	of := &namespaces.find(w.namespace()).of
	keys := of.find(req.Parent.Name).of
	if heap.Remove(keys, w.index); keys.Len() == 0 {
		of.remove(req.Parent.Name)
	}
	if of.empty() {
		namespaces.remove(w.namespace())
	}
}

// of returns the keys of a parent.
func (q *queue) of(parent types.NamespacedName) (keys []Request) {
	for kind := range kindCount {
		namespace := q.namespaces[kind].find(parent.Namespace)
		if namespace == nil {
			continue
		}
		if schedule := namespace.of.find(parent.Name); schedule != nil {
			for _, w := range schedule.of.all {
				keys = append(keys, w.req)
			}
		}
	}
	return keys
}

// take removes a key. Its namespace, and its schedule, are the last from then on.
func (q *queue) take(w *waiter) {
	q.last(w.namespace(), w.req.Parent.Name)
	q.leave(w.req)
}

// postpone makes a key wait behind the others of its schedule, and its schedule behind the others of the namespace.
func (q *queue) postpone(w *waiter, now time.Time) {
	of := &q.namespaces[w.kind()].find(w.namespace()).of
	of.last(w.req.Parent.Name, q.nextPosition())
	q.arrivals++
	w.since, w.arrival = now, q.arrivals
	heap.Fix(of.find(w.req.Parent.Name).of, w.index)
}

// last makes a namespace the last of those that wait, and one of its schedules, if there is one of the name.
func (q *queue) last(namespace, schedule string) {
	position := q.nextPosition()
	for kind := range kindCount {
		if q.namespaces[kind].last(namespace, position); schedule != "" && q.namespaces[kind].find(namespace) != nil {
			q.namespaces[kind].find(namespace).of.last(schedule, position)
		}
	}
}

// next returns the next key of a kind of a namespace.
func (s *schedules) next() *waiter { return memberOf[*waiters](s.first()).of.all[0] }

// before returns whether one of two keys, each the next of its namespace and kind, comes before the other.
func (q *queue) before(a, b *waiter) bool {
	m, n := q.namespaces[a.kind()].find(a.namespace()), q.namespaces[b.kind()].find(b.namespace())
	if m.position != n.position {
		return m.position < n.position
	}
	return m.of.find(a.req.Parent.Name).position < n.of.find(b.req.Parent.Name).position
}

// othersWait returns whether keys of other namespaces wait.
func (q *queue) othersWait(namespace string) bool {
	return len(q.keys) > 1 || len(q.keys) == 1 && q.keys[namespace] == 0
}

// first returns a key that waits, the same one until it leaves or others come before
// it.
func (q *queue) first() Request {
	for kind := range kindCount {
		if e := q.namespaces[kind].first(); e != nil {
			return memberOf[schedules](e).of.next().req
		}
	}
	return Request{}
}

// waiters are the keys of a schedule: the one that has waited longest is first.
type waiters = ordered[*waiter]

func newWaiters() *waiters {
	return &waiters{index: func(w *waiter) *int { return &w.index }, before: func(a, b *waiter) bool {
		if c := a.since.Compare(b.since); c != 0 {
			return c < 0
		}
		return a.arrival < b.arrival
	}}
}
