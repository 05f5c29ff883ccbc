// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"container/heap"
	"time"
)

// longest is how long an uncut snapshot counts at most. A driver that is down for
// longer does not hold up its snapshots for ever.
const longest = time.Hour

// shortest is how long an uncut snapshot counts at least: a short readyDeadline must not
// evade the limit.
const shortest = time.Minute

// limit is what is in flight under one limit, and the keys that wait.
type limit struct {
	name string
	size int
	// flights are what is in flight, the first to end first.
	flights flights
	// perNamespace counts them, and capped is how many are within the half of a namespace.
	perNamespace map[string]int
	capped       int
	queue        queue
	// timer is the key that is woken when a flight ends by time alone, and when.
	timer   Request
	timerAt time.Time
}

// id is that of a snapshot, by namespace and name, or of a key that has been woken to
// create one.
type id struct{ namespace, snapshot, schedule, key string }

func snapshotID(namespace, name string) id {
	return id{namespace: namespace, snapshot: name}
}

func keyID(req Request) id {
	return id{namespace: req.Parent.Namespace, schedule: req.Parent.Name, key: req.MapKey}
}

// flight is until when a snapshot or a woken key counts, towards which limit, and whether
// the cache has the snapshot.
type flight struct {
	id       id
	schedule string
	limit    *limit
	until    time.Time
	cached   bool
	// index in the limit's flights.
	index int
}

func newLimit(name string, size int) *limit {
	return &limit{name: name, size: size, perNamespace: map[string]int{}, queue: newQueue()}
}

func (lim *limit) add(f *flight) {
	f.limit = lim
	heap.Push(&lim.flights, f)
	lim.count(f.id.namespace, 1)
}

func (lim *limit) remove(f *flight) {
	heap.Remove(&lim.flights, f.index)
	lim.count(f.id.namespace, -1)
}

func (lim *limit) count(namespace string, more int) {
	lim.capped -= min(lim.perNamespace[namespace], lim.half())
	lim.perNamespace[namespace] += more
	lim.capped += min(lim.perNamespace[namespace], lim.half())
	if lim.perNamespace[namespace] == 0 {
		delete(lim.perNamespace, namespace)
	}
}

// ended returns a flight that has ended, or nil. None ends later than longest from now,
// except after the clock was set back.
func (lim *limit) ended(now time.Time) *flight {
	if len(lim.flights) == 0 {
		return nil
	}
	if last := now.Add(longest); lim.flights[0].until.After(last) {
		for _, f := range lim.flights {
			f.until = last
		}
	}
	if first := lim.flights[0]; !now.Before(first.until) {
		return first
	}
	return nil
}

// idle returns whether nothing is in flight or waits.
func (lim *limit) idle() bool { return len(lim.flights) == 0 && len(lim.queue.waiting) == 0 }

// half of a limit is what a namespace gets while others wait.
func (lim *limit) half() int { return (lim.size + 1) / 2 }

// full returns whether no more may be in flight. What a namespace has beyond half does
// not count while a key of another namespace waits.
func (lim *limit) full() bool {
	taken := len(lim.flights)
	switch waiting := lim.queue.namespaces.order; {
	case len(waiting) == 1:
		own := lim.perNamespace[waiting[0]]
		taken = lim.capped - min(own, lim.half()) + own
	case len(waiting) > 1:
		taken = lim.capped
	}
	return lim.size > 0 && taken >= lim.size
}

// mayHaveMore returns whether a namespace may have one more in flight: while others wait,
// it gets none beyond half.
func (lim *limit) mayHaveMore(namespace string) bool {
	return len(lim.queue.namespaces.order) == 1 || lim.perNamespace[namespace] < lim.half()
}

// flights implements heap.Interface: the one that ends first is first.
type flights []*flight

func (h flights) Len() int           { return len(h) }
func (h flights) Less(i, j int) bool { return h[i].until.Before(h[j].until) }
func (h flights) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *flights) Push(x any) {
	f := x.(*flight)
	f.index = len(*h)
	*h = append(*h, f)
}

// Pop implements heap.Interface.
func (h *flights) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return f
}
