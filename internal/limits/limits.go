// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Limits knows which snapshots count towards the limits of drivers and volumes, and which keys
// wait. It is not safe for concurrent use. Its methods return the keys to wake. Its size and the
// cost of a call do not depend on limits of which nothing counts or waits.
type Limits struct {
	// limits are those of what counts, and of keys that wait.
	limits  map[string]*limit
	flights map[id]*flight
	// waits is the limit that a key waits for.
	waits map[Request]*limit
	// volumes are those of what counts, and of keys that wait; waitsFor is the one that a key
	// waits for, and created is when they got their last snapshots.
	volumes  map[string]*volume
	waitsFor map[Request]string
	created  map[string]lastCreate
	// left are the volumes of the last snapshots that no longer count, and leaves is how many there were.
	left   [256]string
	leaves int
	// wake are the keys to wake after the present call.
	wake []Wake
}

// Mark returns a mark for LeftSince.
func (l *Limits) Mark() int { return l.leaves }

// LeftSince returns whether a snapshot of some volumes may have ceased to count since a mark.
func (l *Limits) LeftSince(mark int, volumes []string) bool {
	if l.leaves-mark > len(l.left) {
		return true
	}
	for ; mark < l.leaves; mark++ {
		if slices.Contains(volumes, l.left[mark%len(l.left)]) {
			return true
		}
	}
	return false
}

// New returns Limits.
func New() *Limits {
	return &Limits{
		limits: map[string]*limit{}, flights: map[id]*flight{}, waits: map[Request]*limit{},
		volumes: map[string]*volume{}, waitsFor: map[Request]string{}, created: map[string]lastCreate{},
	}
}

// MayCreate returns why a key may not create a snapshot now; empty if it may, and then it
// counts. Otherwise the key waits, and is woken when it is next.
func (l *Limits) MayCreate(now time.Time, c Create) (Reason, []Wake) {
	s, req := &c.Snapshot, c.Request
	lim := l.limit(s.Limit)
	lim.resize(c.Sizes)
	if lim.timer == req {
		lim.timer = Request{} // the queue holds a key once: this pass may have consumed it
	}
	l.leaveOthers(now, req, lim)
	l.expire(now, lim)
	l.wake = slices.DeleteFunc(l.wake, func(w Wake) bool { return w.Request == req }) // its reservation may have ended
	existing := l.flights[s.id()]
	if existing == nil {
		if why, of, until := l.refuses(now, &c); why != "" {
			l.leaveVolume(req) // the reason applies to every key of the volume, so that no key is woken for it
			l.leaveOthers(now, req, nil)
			l.waitFor(now, &c, of, until)
			l.settle(now, lim)
			return why, l.take()
		}
	}
	l.leaveVolume(req)
	why := l.asks(now, lim, &c, existing)
	l.settle(now, lim)
	return why, slices.DeleteFunc(l.take(), func(w Wake) bool { return why == "" && w.Request == req })
}

// asks returns why a key has to wait for its driver, and counts its snapshot if it has not to.
func (l *Limits) asks(now time.Time, lim *limit, c *Create, existing *flight) Reason {
	woken := l.flights[keyID(c.Request)]
	if existing == nil && woken == nil {
		l.push(lim, c)
		l.settle(now, lim)
		woken = l.flights[keyID(c.Request)]
	}
	if existing == nil && woken == nil {
		return lim.reason(c.Request)
	}
	l.free(now, woken)
	l.dequeue(now, c.Request)
	if existing == nil || !existing.cached {
		s := &c.Snapshot
		l.put(now, lim, s, s.ends(now, Stage{Created: now, Uncut: true}), false)
	}
	l.spaced(now, c)
	return ""
}

// Leave says that a key has nothing to create.
func (l *Limits) Leave(now time.Time, req Request) []Wake {
	l.volumeChanged(now, l.leaveVolume(req))
	l.leaveOthers(now, req, nil)
	return l.take()
}

// leaveOthers makes a key give up what it waits for or was woken for, but of one limit.
func (l *Limits) leaveOthers(now time.Time, req Request, except *limit) {
	if lim := l.waits[req]; lim != nil && lim != except {
		l.dequeue(now, req)
		l.settle(now, lim)
	}
	if f := l.flights[keyID(req)]; f != nil && f.limit != except {
		l.free(now, f)
		l.settle(now, f.limit)
	}
}

// ParentDeleted makes the keys of a parent leave the queues, and wakes them: none of them
// would come otherwise, and a parent that was created again under the name may have
// asked already.
func (l *Limits) ParentDeleted(now time.Time, parent types.NamespacedName) []Wake {
	for _, lim := range l.limits {
		for _, req := range lim.queue.of(parent) {
			l.dequeue(now, req)
			l.wake = append(l.wake, Wake{Request: req})
		}
		l.settle(now, lim)
	}
	l.parentLeavesVolumes(now, parent)
	return l.take()
}

// Busy returns whether any snapshot of a volume counts.
func (l *Limits) Busy(volume string) bool {
	v := l.volumes[volume]
	return v != nil && len(v.flights) > 0
}

// Of returns the names of the snapshots of a parent that count.
func (l *Limits) Of(parent types.NamespacedName) (names []string) {
	for h, f := range l.flights {
		if h.snapshot != "" && h.namespace == parent.Namespace && f.schedule == parent.Name {
			names = append(names, h.snapshot)
		}
	}
	return names
}

// Seen says that the cache has a snapshot that was never ready.
func (l *Limits) Seen(now time.Time, s Snapshot, at Stage) []Wake {
	ends := s.ends(now, at)
	if !now.Before(ends[inFlight]) && !now.Before(ends[pending]) {
		return l.Remove(now, s.Namespace, s.Name)
	}
	lim := l.limit(s.Limit)
	if f := l.flights[s.id()]; f != nil && f.limit != lim {
		l.free(now, f)
		l.settle(now, f.limit)
		lim = l.limit(s.Limit)
	}
	l.put(now, lim, &s, ends, true)
	l.settle(now, lim)
	return l.take()
}

// Remove says that a snapshot is finished, is deleted, or does not count for another reason.
func (l *Limits) Remove(now time.Time, namespace, name string) []Wake {
	if f := l.flights[snapshotID(namespace, name)]; f != nil {
		l.free(now, f)
		l.settle(now, f.limit)
	}
	return l.take()
}

// VolumeChanged says that a volume may have room for a snapshot.
func (l *Limits) VolumeChanged(now time.Time, name string) []Wake {
	l.volumeChanged(now, name)
	return l.take()
}

// Failed says that a snapshot which might be created was not created, as far as is known.
// Its key waits again, after those of other namespaces: creates that hang must not
// overtake. What the cache has exists all the same.
func (l *Limits) Failed(now time.Time, namespace, name string) []Wake {
	f := l.flights[snapshotID(namespace, name)]
	if f == nil || f.cached {
		return nil
	}
	f.limit.queue.last(namespace, "")
	for _, volume := range f.volumes {
		if l.created[volume].at.Equal(f.granted) {
			delete(l.created, volume)
		}
	}
	return l.Remove(now, namespace, name)
}

// unsure is how long a snapshot counts that may exist. The cache has it by then if it
// does.
const unsure = 10 * time.Second

// Unsure says that it is not known whether a snapshot was created.
func (l *Limits) Unsure(now time.Time, namespace, name string) []Wake {
	f := l.flights[snapshotID(namespace, name)]
	if f == nil || f.cached {
		return nil
	}
	f.limit.remove(f)
	for i, end := range f.ends {
		if soon := now.Add(unsure); soon.Before(end) {
			f.ends[i] = soon
		}
	}
	f.limit.add(f)
	l.settle(now, f.limit)
	return l.take()
}

// Counts returns the counts of the limits of which something is in flight or waits.
func (l *Limits) Counts(now time.Time) map[string]Count {
	all := make(map[string]Count, len(l.limits))
	for name, lim := range l.limits {
		c := Count{Waiting: len(lim.queue.waiting)}
		for _, f := range lim.bounds[inFlight].flights.all { // those that have ended are freed by what wakes the next key
			if now.Before(f.ends[inFlight]) {
				c.InFlight += f.weight
			}
		}
		all[name] = c
	}
	for req, name := range l.waitsFor {
		of := l.volumes[name].waiting[req].limit
		c := all[of]
		c.Waiting++
		all[of] = c
	}
	return all
}

// settle wakes the keys that may create a snapshot, and counts them. While others wait, one of
// them is woken when the next snapshot no longer counts.
func (l *Limits) settle(now time.Time, lim *limit) {
	l.expire(now, lim)
	before := lim.reserved
	for next := lim.next(now); next != nil; next = lim.next(now) {
		delete(l.waits, next.req)
		l.add(lim, &flight{id: keyID(next.req), weight: next.weight, ends: [...]time.Time{now.Add(longest), now.Add(longest)}})
		l.wake = append(l.wake, Wake{Request: next.req})
	}
	if ends, ok := lim.ends(); ok && len(lim.queue.waiting) > 0 && (lim.queue.waiting[lim.timer] == nil || ends.Before(lim.timerAt)) {
		lim.timer, lim.timerAt = lim.queue.first(), ends
		l.wake = append(l.wake, Wake{Request: lim.timer, After: ends.Sub(now)})
	}
	if lim.idle(now) {
		delete(l.limits, lim.name)
	}
	if lim.reserved != before && lim.reserved != nil { // which is rare: forget those that nobody uses any more
		maps.DeleteFunc(l.limits, func(_ string, other *limit) bool { return other != lim && other.idle(now) })
	}
}

// take returns the keys to wake.
func (l *Limits) take() []Wake {
	wake := l.wake
	l.wake = nil
	return wake
}

// expire ends what counts for no longer.
func (l *Limits) expire(now time.Time, lim *limit) {
	if w := lim.expire(now); w != nil {
		l.wake = append(l.wake, Wake{Request: w.req}) // to say so
	}
	for i := range lim.bounds {
		b := &lim.bounds[i]
		for f := b.ended(now); f != nil; f = b.ended(now) {
			b.remove(f)
			if f.ends[i] = (time.Time{}); f.ends == [bounds]time.Time{} {
				l.free(now, f)
			}
		}
	}
}

// limit returns the limit of a name. One of which nothing counts or waits is forgotten when it
// is settled.
func (l *Limits) limit(name string) *limit {
	lim := l.limits[name]
	if lim == nil {
		lim = newLimit(name)
		l.limits[name] = lim
	}
	return lim
}

// put counts a snapshot, and no longer as it did before.
func (l *Limits) put(now time.Time, lim *limit, s *Snapshot, ends [bounds]time.Time, cached bool) {
	before := l.flights[s.id()]
	if before.same(lim, s, ends, cached) {
		return // each pass over its key sees it again
	}
	if before != nil {
		l.drop(before)
	}
	l.add(lim, &flight{
		id: s.id(), schedule: s.Schedule, volumes: s.Volumes, weight: s.weight(), ends: ends, cached: cached, granted: now,
	})
	if before != nil && !before.cached && cached {
		for _, volume := range s.Volumes {
			l.volumeChanged(now, volume)
		}
	}
}

func (l *Limits) add(lim *limit, f *flight) {
	l.flights[f.id] = f
	lim.add(f)
	for _, volume := range f.volumes {
		l.volumeOf(volume).flights[f.id] = f
	}
}

// free ends a flight, if there is one.
func (l *Limits) free(now time.Time, f *flight) {
	if f != nil {
		l.drop(f)
		for _, volume := range f.volumes {
			l.left[l.leaves%len(l.left)] = volume
			l.leaves++
			l.volumeChanged(now, volume)
			l.forgetVolume(volume)
		}
	}
}

func (l *Limits) drop(f *flight) {
	delete(l.flights, f.id)
	f.limit.remove(f)
	for _, volume := range f.volumes {
		if v := l.volumes[volume]; v != nil {
			delete(v.flights, f.id)
		}
	}
}

func (l *Limits) push(lim *limit, c *Create) {
	if l.waits[c.Request] == nil {
		l.waits[c.Request] = lim
		lim.queue.push(&waiter{req: c.Request, since: c.Since, weight: c.Snapshot.weight()})
	}
	lim.queue.weigh(lim.queue.waiting[c.Request], c.Snapshot.weight()) // a group may have changed
}

// dequeue makes a key leave the queue in which it waits, if it does.
func (l *Limits) dequeue(now time.Time, req Request) {
	if lim := l.waits[req]; lim != nil {
		delete(l.waits, req)
		lim.endReservation(now, req)
		lim.queue.leave(req)
	}
}
