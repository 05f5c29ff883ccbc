// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"container/heap"
	"slices"
	"time"
)

// The bounds of a limit.
const (
	inFlight = iota
	pending
	bounds
)

// flight is a snapshot, or a key that was woken to create one, that counts towards a limit.
type flight struct {
	id       id
	schedule string
	// volumes are those of a snapshot, and weight is their number, at least 1.
	volumes []string
	weight  int
	limit   *limit
	// ends is until when it counts towards each bound; zero: it does not.
	ends [bounds]time.Time
	// index is its place in each bound's flights.
	index [bounds]int
	// cached is set if the cache has the snapshot; until then, granted is when it could be created.
	cached  bool
	granted time.Time
}

// same returns whether a snapshot counts like this already.
func (f *flight) same(lim *limit, s *Snapshot, ends [bounds]time.Time, cached bool) bool {
	return f != nil && f.limit == lim && f.schedule == s.Schedule && f.ends == ends && f.cached == cached && slices.Equal(f.volumes, s.Volumes)
}

// ends returns until when a snapshot counts towards each bound at a stage; zero: it does not.
func (s Snapshot) ends(now time.Time, at Stage) (ends [bounds]time.Time) {
	ends[pending] = s.pendingUntil(now, at)
	if at.Uncut && at.Deleted.IsZero() {
		ends[inFlight] = at.Created.Add(s.inFlightFor())
		if latest := now.Add(s.inFlightFor()); ends[inFlight].After(latest) { // its creation is in the future
			ends[inFlight] = latest
		}
	}
	return ends
}

// end is until when it counts towards any bound.
func (f *flight) end() time.Time {
	if f.ends[pending].After(f.ends[inFlight]) {
		return f.ends[pending]
	}
	return f.ends[inFlight]
}

// never is the end of what counts until an event ends it.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// bound is how many flights there may be, by their weights, and which there are.
type bound struct {
	which, size int
	// sum is that of their weights.
	sum int
	// strict: the size is never exceeded for fairness.
	strict bool
	// flights are a heap: the one that ends first is first.
	flights ordered[*flight]
	// perNamespace is the sum of each, and capped is how much is within the half of a namespace.
	perNamespace map[string]int
	capped       int
}

func newBound(which int) bound {
	return bound{which: which, strict: which == pending, perNamespace: map[string]int{}, flights: ordered[*flight]{
		before: func(a, b *flight) bool { return a.ends[which].Before(b.ends[which]) },
		index:  func(f *flight) *int { return &f.index[which] },
	}}
}

func (b *bound) add(f *flight) {
	if f.ends[b.which].IsZero() {
		return
	}
	heap.Push(&b.flights, f)
	b.count(f.id.namespace, f.weight)
}

func (b *bound) remove(f *flight) {
	if f.ends[b.which].IsZero() {
		return
	}
	heap.Remove(&b.flights, f.index[b.which])
	b.count(f.id.namespace, -f.weight)
}

func (b *bound) count(namespace string, more int) {
	b.sum += more
	b.capped -= min(b.perNamespace[namespace], b.half())
	b.perNamespace[namespace] += more
	b.capped += min(b.perNamespace[namespace], b.half())
	if b.perNamespace[namespace] == 0 {
		delete(b.perNamespace, namespace)
	}
}

func (b *bound) resize(size int) {
	if size == b.size {
		return
	}
	b.size, b.capped = size, 0
	for _, n := range b.perNamespace {
		b.capped += min(n, b.half())
	}
}

// ended returns a flight that has ended, or nil. None is in flight for longer than longest
// from now, except after the clock was set back.
func (b *bound) ended(now time.Time) *flight {
	if b.flights.Len() == 0 {
		return nil
	}
	if last := now.Add(longest); b.which == inFlight && b.flights.all[0].ends[inFlight].After(last) {
		for _, f := range b.flights.all {
			f.ends[inFlight] = last
		}
	}
	if first := b.flights.all[0]; !now.Before(first.ends[b.which]) {
		return first
	}
	return nil
}

// half of a bound is what a namespace gets while others wait.
func (b *bound) half() int { return (b.size + 1) / 2 }

// taken returns how much of the bound is taken while keys of some namespaces wait. What a
// namespace has beyond half does not count while a key of another namespace waits, unless the
// bound is strict.
func (b *bound) taken(waiting map[string]int) int {
	if b.strict || len(waiting) == 0 {
		return b.sum
	}
	taken := b.capped
	if len(waiting) == 1 {
		for namespace := range waiting {
			own := b.perNamespace[namespace]
			taken += own - min(own, b.half())
		}
	}
	return taken
}

// full returns whether there may be no more flights, while keys of some namespaces wait.
func (b *bound) full(waiting map[string]int) bool { return b.size > 0 && b.taken(waiting) >= b.size }

// fits returns whether there may be one more flight of a weight. One that is heavier than the
// bound has to be alone.
func (b *bound) fits(weight int, waiting map[string]int) bool {
	return b.size == 0 || b.taken(waiting)+weight <= b.size || weight > b.size && b.sum == 0
}

// shared returns whether a namespace may have one more flight while others wait: it gets none
// beyond half, unless it has no other.
func (b *bound) shared(namespace string, weight int) bool {
	return b.size == 0 || b.perNamespace[namespace] == 0 || b.perNamespace[namespace]+weight <= b.half()
}
