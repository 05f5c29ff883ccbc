// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"time"
)

// What a namespace may reserve a driver for, so that a group that is larger than what is free finds room.
const (
	// reservable is how much of each window its reservations may take together, and leastReserved what each takes at least.
	reservable    = time.Hour
	window        = 6 * time.Hour
	leastReserved = time.Minute
	// quiet is how long at the end of a reservation other namespaces get nothing, and quietEvery how often that may be.
	quiet      = 10 * time.Minute
	quietEvery = time.Hour
)

// reservation is for the group of a namespace. Until it ends, other namespaces get places for single PVCs only, up to
// half of the limit together, and none once it is quiet.
type reservation struct {
	key                     Request
	since, quietFrom, until time.Time
}

// span is a time for which a driver was reserved.
type span struct{ from, to time.Time }

func (r *reservation) quiet(now time.Time) bool { return !now.Before(r.quietFrom) }

// reserve reserves the driver for a group.
func (lim *limit) reserve(now time.Time, w *waiter) {
	r := &reservation{key: w.req, since: now, until: now.Add(lim.mayReserve(now, w.namespace()))}
	r.quietFrom = r.until.Add(-quiet)
	if r.quietFrom.Before(now) {
		r.quietFrom = now
	}
	if next := lim.quietSince.Add(quietEvery); r.quietFrom.Before(next) && !lim.quietSince.After(now) {
		r.quietFrom = next
	}
	lim.reserved = r
}

// mayReserve returns for how long a namespace may reserve the driver from a time on; zero if it may not.
func (lim *limit) mayReserve(now time.Time, namespace string) time.Duration {
	lim.forgetSpans(now, namespace)
	left := reservable
	for _, s := range lim.spans[namespace] {
		from := s.from
		if start := now.Add(-window); from.Before(start) {
			from = start
		}
		left -= s.to.Sub(from)
	}
	if left < leastReserved {
		return 0
	}
	return left
}

// forgetSpans forgets what no longer counts, and what a clock that was set back has made the future.
func (lim *limit) forgetSpans(now time.Time, namespace string) {
	lim.spans[namespace] = slices.DeleteFunc(lim.spans[namespace], func(s span) bool {
		return !s.to.After(now.Add(-window)) || s.from.After(now)
	})
	if len(lim.spans[namespace]) == 0 {
		delete(lim.spans, namespace)
	}
}

// endReservation ends the present reservation, if it is for a key.
func (lim *limit) endReservation(now time.Time, key Request) {
	r := lim.reserved
	if r == nil || r.key != key {
		return
	}
	lim.reserved = nil
	if now.After(r.until) {
		now = r.until
	}
	if r.quiet(now) {
		lim.quietSince = r.quietFrom
	}
	if least := r.since.Add(leastReserved); now.Before(least) {
		now = least
	}
	namespace := key.Parent.Namespace
	lim.spans[namespace] = append(lim.spans[namespace], span{r.since, now})
}

// expire ends a reservation in which no room was found. The group, which it returns, waits behind the others of its
// namespace.
func (lim *limit) expire(now time.Time) *waiter {
	r := lim.reserved
	if r == nil || now.Before(r.until) && !now.Before(r.since) {
		return nil
	}
	w := lim.queue.waiting[r.key]
	w.noRoom = true
	lim.endReservation(now, r.key)
	lim.queue.last(w.namespace(), "")
	lim.queue.postpone(w, now)
	return w
}

// leavesRoom returns whether a reservation lets a namespace have one more place for a single PVC.
func (lim *limit) leavesRoom(now time.Time, namespace string) bool {
	r := lim.reserved
	if r == nil {
		return true
	}
	if r.key.Parent.Namespace == namespace || r.quiet(now) {
		return false
	}
	for i := range lim.bounds {
		if b := &lim.bounds[i]; b.size > 0 && b.sum-b.perNamespace[r.key.Parent.Namespace] >= b.half() {
			return false
		}
	}
	return true
}

// Shortage is what a group lacks for which a driver was reserved in vain: how many places it needs, of how many there
// are, and how many its namespace and others have.
type Shortage struct {
	Reason                   Reason
	Needs, Size, Own, Others int
}

// Shortage returns what a group lacks that waits, and found no room while its driver was reserved for it; not ok for any other key.
func (l *Limits) Shortage(req Request) (s Shortage, ok bool) {
	lim := l.waits[req]
	if lim == nil || !lim.queue.waiting[req].noRoom {
		return s, false
	}
	s.Reason, s.Needs = lim.reason(req), lim.queue.waiting[req].weight
	b := &lim.bounds[inFlight]
	if s.Reason == Pending {
		b = &lim.bounds[pending]
	}
	s.Size, s.Own = b.size, b.perNamespace[req.Parent.Namespace]
	s.Others = b.sum - s.Own
	return s, true
}
