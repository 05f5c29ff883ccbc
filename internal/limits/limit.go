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

// LongestUpload is how long one that is cut is pending at most.
const LongestUpload = 24 * time.Hour

// limit is what counts towards the limits of one driver, and the keys that wait.
type limit struct {
	name   string
	bounds [bounds]bound
	queue  queue
	// reserved is the present reservation; nil: there is none. spans are the earlier ones of each namespace that still
	// count, and quietSince is when the last one became quiet.
	reserved   *reservation
	spans      map[string][]span
	quietSince time.Time
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
	return &limit{name: name, bounds: [...]bound{newBound(inFlight), newBound(pending)}, queue: newQueue(), spans: map[string][]span{}}
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

// idle returns whether nothing counts or waits, and no reservation is remembered.
func (lim *limit) idle(now time.Time) bool {
	if lim.bounds[inFlight].flights.Len() > 0 || lim.bounds[pending].flights.Len() > 0 || len(lim.queue.waiting) > 0 {
		return false
	}
	for namespace := range lim.spans {
		lim.forgetSpans(now, namespace)
	}
	return len(lim.spans) == 0
}

// full returns the reason why no key may go on; empty if one may.
func (lim *limit) full() Reason {
	switch {
	case lim.bounds[pending].full(lim.queue.keys):
		return Pending
	case lim.bounds[inFlight].full(lim.queue.keys):
		return InFlight
	}
	return ""
}

// fits returns whether there is room for a flight of a weight.
func (lim *limit) fits(weight int) bool {
	return lim.bounds[inFlight].fits(weight, lim.queue.keys) && lim.bounds[pending].fits(weight, lim.queue.keys)
}

// mayGo returns whether a key finds room. While others wait, its namespace gets none beyond half.
func (lim *limit) mayGo(w *waiter) bool {
	return lim.fits(w.weight) && lim.shared(w.namespace(), w.weight)
}

func (lim *limit) shared(namespace string, weight int) bool {
	return !lim.queue.othersWait(namespace) ||
		lim.bounds[inFlight].shared(namespace, weight) && lim.bounds[pending].shared(namespace, weight)
}

// next returns the key that is next and finds room, which no longer waits; nil if there is none.
// For a group that is next and finds too little, the driver is reserved.
func (lim *limit) next(now time.Time) *waiter {
	for lim.full() == "" {
		w, group := lim.nextSingle(now), lim.nextGroup(now)
		if group != nil && (w == nil || lim.reserved != nil || lim.before(group, w)) {
			w = group
		}
		switch {
		case w == nil:
			return nil
		case lim.mayGo(w):
			lim.endReservation(now, w.req)
			lim.queue.take(w)
			return w
		}
		lim.reserve(now, w)
	}
	return nil
}

// before returns whether one key comes before another one: of max-pending, a namespace that has no place comes before those that have some.
func (lim *limit) before(a, b *waiter) bool {
	if has, other := lim.hasSome(a.namespace()), lim.hasSome(b.namespace()); has != other {
		return other
	}
	return lim.queue.before(a, b)
}

func (lim *limit) hasSome(namespace string) bool {
	b := &lim.bounds[pending]
	return b.size > 0 && b.perNamespace[namespace] > 0
}

// nextSingle returns the next key of a single PVC that finds room; nil if there is none.
func (lim *limit) nextSingle(now time.Time) (found *waiter) {
	for e := lim.queue.namespaces[kindSingle].first(); e != nil; e = e.Next() {
		namespace := memberOf[schedules](e)
		if !lim.shared(namespace.name, 1) || !lim.leavesRoom(now, namespace.name) {
			continue
		}
		if !lim.hasSome(namespace.name) {
			return namespace.of.next()
		}
		if found == nil {
			found = namespace.of.next()
		}
	}
	return found
}

// mostTried is how many groups of a namespace are tried in one call. The next call tries others.
const mostTried = 8

// nextGroup returns the group that is next, if it finds room or may reserve the driver; nil if there is none.
// While the driver is reserved, that is the one for which it is.
func (lim *limit) nextGroup(now time.Time) *waiter {
	if r := lim.reserved; r != nil {
		if w := lim.queue.waiting[r.key]; lim.mayGo(w) {
			return w
		}
		return nil
	}
	for e := lim.queue.namespaces[kindGroup].first(); e != nil; e = e.Next() {
		namespace := memberOf[schedules](e)
		reserves := lim.mayReserve(now, namespace.name) > 0
		first := namespace.of.next()
		for w, tried := first, 0; tried < mostTried && (w != first || tried == 0); w, tried = namespace.of.next(), tried+1 {
			if reserves || lim.mayGo(w) {
				return w
			}
			lim.queue.postpone(w, now)
		}
	}
	return nil
}

// reason returns why a key of a namespace waits.
func (lim *limit) reason(req Request) Reason {
	if full := lim.full(); full != "" {
		return full
	}
	weight := lim.queue.waiting[req].weight
	if b := &lim.bounds[pending]; !b.shared(req.Parent.Namespace, weight) || !b.fits(weight, lim.queue.keys) {
		return Pending
	}
	return InFlight
}

// ends returns when the next flight, or the reservation, ends by time alone; not ok if none does.
func (lim *limit) ends() (first time.Time, ok bool) {
	first = never
	for i := range lim.bounds {
		if b := &lim.bounds[i]; b.flights.Len() > 0 && b.flights.all[0].ends[i].Before(first) {
			first = b.flights.all[0].ends[i]
		}
	}
	if lim.reserved != nil && lim.reserved.until.Before(first) {
		first = lim.reserved.until
	}
	return first, first.Before(never)
}
