// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"time"
)

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
	// reserved is the key that is next and finds too little room: until a time, no other goes on.
	reserved      Request
	reservedUntil time.Time
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

// fits returns whether there is room for a flight of a weight.
func (lim *limit) fits(weight int) bool {
	waiting := lim.queue.namespaces.order
	return lim.bounds[inFlight].fits(weight, waiting) && lim.bounds[pending].fits(weight, waiting)
}

// next returns the key that is next and finds room, which no longer waits; not ok if there is
// none. While one that is next finds too little, those after it wait, too: a group of PVCs would
// otherwise never find any.
func (lim *limit) next(now time.Time) (w *waiter, ok bool) {
	for range len(lim.queue.waiting) {
		w, ok = lim.queue.peek(lim.mayHaveMore)
		if !ok {
			return nil, false
		}
		if lim.queue.waitsBehind(w) {
			lim.queue.postpone(w, now, w.behind)
			continue
		}
		if lim.fits(w.weight) {
			lim.reserved = Request{}
			lim.queue.take(w)
			return w, true
		}
		if lim.reserved != w.req {
			lim.reserved, lim.reservedUntil = w.req, now.Add(longest)
		}
		return nil, false
	}
	return nil, false
}

// expire makes a key that has kept room for as long as a snapshot may wait behind the others,
// whether or not it is its turn now.
func (lim *limit) expire(now time.Time) {
	lim.passOver(now)
	if now.Before(lim.reservedUntil) {
		return
	}
	if w := lim.queue.waiting[lim.reserved]; w != nil {
		lim.queue.postpone(w, now, lim.queue.arrivals)
	}
	lim.reserved = Request{}
}

// passOver makes a group wait behind the others that has held up its namespace for as long: while an
// upload of the namespace lasts, and others wait, it may have less than the group weighs.
func (lim *limit) passOver(now time.Time) {
	var late []*waiter
	for w := range lim.queue.groups {
		switch namespace := w.req.Parent.Namespace; {
		case lim.queue.firstOf(namespace) != w || lim.mayHaveMore(namespace, w.weight) || lim.queue.alone(namespace):
			w.passedOver = time.Time{}
		case w.passedOver.IsZero():
			w.passedOver = now
		case !now.Before(w.passedOver.Add(longest)):
			late = append(late, w)
		}
	}
	slices.SortFunc(late, func(a, b *waiter) int { return a.arrival - b.arrival })
	for _, w := range late {
		lim.queue.postpone(w, now, lim.queue.arrivals)
	}
}

// mayHaveMore returns whether a namespace may have a flight of a weight: while others wait, it
// gets none beyond half.
func (lim *limit) mayHaveMore(namespace string, weight int) bool {
	return len(lim.queue.namespaces.order) == 1 ||
		lim.bounds[inFlight].shared(namespace, weight) && lim.bounds[pending].shared(namespace, weight)
}

// reason returns why a key of a namespace waits.
func (lim *limit) reason(req Request) Reason {
	if full := lim.full(); full != "" {
		return full
	}
	weight, waiting := lim.queue.waiting[req].weight, lim.queue.namespaces.order
	if b := &lim.bounds[pending]; !b.shared(req.Parent.Namespace, weight) || !b.fits(weight, waiting) {
		return Pending
	}
	return InFlight
}

// ends returns when the next flight, or the reservation, ends by time alone; not ok if none does.
func (lim *limit) ends() (first time.Time, ok bool) {
	first = never
	for i := range lim.bounds {
		if b := &lim.bounds[i]; b.Len() > 0 && b.flights[0].ends[i].Before(first) {
			first = b.flights[0].ends[i]
		}
	}
	if lim.queue.waiting[lim.reserved] != nil && lim.reservedUntil.Before(first) {
		first = lim.reservedUntil
	}
	for w := range lim.queue.groups {
		if since := w.passedOver; !since.IsZero() && since.Add(longest).Before(first) {
			first = since.Add(longest)
		}
	}
	return first, first.Before(never)
}
