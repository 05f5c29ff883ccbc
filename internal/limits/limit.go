// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import "time"

// longest is how long an uncut snapshot is in flight at most. A driver that is down for
// longer does not hold up its snapshots for ever.
const longest = time.Hour

// shortest is how long an uncut snapshot is in flight at least: a short readyDeadline must
// not evade the limit.
const shortest = time.Minute

// limit is what counts towards the limits of one driver, and the keys that wait.
type limit struct {
	name   string
	bounds [bounds]bound
	queue  queue
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

func newLimit(name string) *limit {
	return &limit{name: name, bounds: [...]bound{newBound(inFlight), newBound(pending)}, queue: newQueue()}
}

func (lim *limit) resize(s Sizes) {
	lim.bounds[inFlight].resize(s.InFlight)
	lim.bounds[pending].resize(s.Pending)
}

func (lim *limit) add(f *flight) {
	f.limit = lim
	for i := range lim.bounds {
		lim.bounds[i].add(f)
	}
}

func (lim *limit) remove(f *flight) {
	for i := range lim.bounds {
		lim.bounds[i].remove(f)
	}
}

// idle returns whether nothing counts or waits.
func (lim *limit) idle() bool {
	return lim.bounds[inFlight].Len() == 0 && lim.bounds[pending].Len() == 0 && len(lim.queue.waiting) == 0
}

// full returns the reason why no key may go on; empty if one may.
func (lim *limit) full() Reason {
	switch waiting := lim.queue.namespaces.order; {
	case lim.bounds[pending].full(waiting):
		return Pending
	case lim.bounds[inFlight].full(waiting):
		return InFlight
	}
	return ""
}

// mayHaveMore returns whether a namespace may have one more flight: while others wait, it
// gets none beyond half.
func (lim *limit) mayHaveMore(namespace string) bool {
	return len(lim.queue.namespaces.order) == 1 || lim.bounds[inFlight].shared(namespace) && lim.bounds[pending].shared(namespace)
}

// reason returns why a key of a namespace waits.
func (lim *limit) reason(namespace string) Reason {
	if full := lim.full(); full != "" {
		return full
	}
	if !lim.bounds[pending].shared(namespace) {
		return Pending
	}
	return InFlight
}

// ends returns when the next flight ends by time alone; not ok if none does.
func (lim *limit) ends() (first time.Time, ok bool) {
	first = never
	for i := range lim.bounds {
		if b := &lim.bounds[i]; b.Len() > 0 && b.flights[0].ends[i].Before(first) {
			first = b.flights[0].ends[i]
		}
	}
	return first, first.Before(never)
}
