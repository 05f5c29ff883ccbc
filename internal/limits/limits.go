// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Limits knows which snapshots are in flight, and which keys wait. It is not safe for
// concurrent use. Its methods return the keys to wake. Its size and the cost of a call
// do not depend on limits of which nothing is in flight or waits.
type Limits struct {
	size int
	// limits are those of what is in flight, and of keys that wait.
	limits   map[string]*limit
	inFlight map[id]*flight
	// waits is the limit that a key waits for.
	waits map[Request]*limit
}

// New returns Limits of so many snapshots each; zero: any number.
func New(size int) *Limits {
	return &Limits{size: size, limits: map[string]*limit{}, inFlight: map[id]*flight{}, waits: map[Request]*limit{}}
}

// Request is a key of a schedule: that of a PVC.
type Request struct {
	Parent types.NamespacedName
	MapKey string
}

// Wake is a key to reconcile after a time.
type Wake struct {
	Request Request
	After   time.Duration
}

// Snapshot is one that exists or is about to: its name, its schedule, in the same
// namespace, and for how long it counts.
type Snapshot struct {
	Namespace, Name, Schedule string
	// Limit names the limit that it counts towards.
	Limit         string
	ReadyDeadline time.Duration
}

func (s Snapshot) id() id { return snapshotID(s.Namespace, s.Name) }

func (s Snapshot) lifetime() time.Duration { return min(max(s.ReadyDeadline, shortest), longest) }

// MayCreate returns whether a key may create a snapshot now, which is in flight then.
// Otherwise the key waits, and is woken when it is next. since is the time from which it
// lacks a snapshot.
func (l *Limits) MayCreate(now time.Time, req Request, s Snapshot, since time.Time) (may bool, wake []Wake) {
	lim := l.limit(s.Limit)
	wake = l.leave(now, req, lim)
	if lim.timer == req {
		lim.timer = Request{} // the queue holds a key once: this pass may have consumed it
	}
	l.expire(now, lim)
	existing, woken := l.inFlight[s.id()], l.inFlight[keyID(req)]
	if existing == nil && woken == nil {
		l.push(lim, req, since)
		wake = append(wake, l.settle(now, lim)...)
		woken = l.inFlight[keyID(req)]
	}
	if may = existing != nil || woken != nil; may {
		l.free(woken)
		l.dequeue(req)
		if existing == nil || !existing.cached {
			l.put(lim, s, now.Add(s.lifetime()), false)
		}
	}
	wake = append(wake, l.settle(now, lim)...)
	return may, slices.DeleteFunc(wake, func(w Wake) bool { return may && w.Request == req })
}

// Leave says that a key has nothing to create.
func (l *Limits) Leave(now time.Time, req Request) []Wake { return l.leave(now, req, nil) }

// leave makes a key give up what it waits for or was woken for, but of one limit.
func (l *Limits) leave(now time.Time, req Request, except *limit) (wake []Wake) {
	if lim := l.waits[req]; lim != nil && lim != except {
		l.dequeue(req)
		wake = l.settle(now, lim)
	}
	if f := l.inFlight[keyID(req)]; f != nil && f.limit != except {
		l.free(f)
		wake = append(wake, l.settle(now, f.limit)...)
	}
	return wake
}

// ParentDeleted makes the keys of a parent leave the queues, and wakes them: none of them
// would come otherwise, and a parent that was created again under the name may have
// asked already.
func (l *Limits) ParentDeleted(now time.Time, parent types.NamespacedName) (wake []Wake) {
	for _, lim := range l.limits {
		for _, req := range lim.queue.of(parent) {
			l.dequeue(req)
			wake = append(wake, Wake{Request: req})
		}
		wake = append(wake, l.settle(now, lim)...)
	}
	return wake
}

// Of returns the names of the snapshots of a parent that are in flight.
func (l *Limits) Of(parent types.NamespacedName) (names []string) {
	for h, f := range l.inFlight {
		if h.snapshot != "" && h.namespace == parent.Namespace && f.schedule == parent.Name {
			names = append(names, h.snapshot)
		}
	}
	return names
}

// Seen says that the cache has an uncut snapshot.
func (l *Limits) Seen(now, created time.Time, s Snapshot) (wake []Wake) {
	until := created.Add(s.lifetime())
	if latest := now.Add(s.lifetime()); until.After(latest) { // its creation is in the future
		until = latest
	}
	lim := l.limit(s.Limit)
	if f := l.inFlight[s.id()]; f != nil && f.limit != lim {
		wake = l.Remove(now, s.Namespace, s.Name)
	}
	l.put(lim, s, until, true)
	return append(wake, l.settle(now, lim)...)
}

// Remove says that a snapshot is cut, is being deleted, is deleted, or does not count
// for another reason.
func (l *Limits) Remove(now time.Time, namespace, name string) []Wake {
	f := l.inFlight[snapshotID(namespace, name)]
	if f == nil {
		return nil
	}
	l.free(f)
	return l.settle(now, f.limit)
}

// Failed says that a snapshot which might be created was not created, as far as is known.
// Its key waits again, after those of other namespaces: creates that hang must not
// overtake. What the cache has exists all the same.
func (l *Limits) Failed(now time.Time, namespace, name string) []Wake {
	f := l.inFlight[snapshotID(namespace, name)]
	if f == nil || f.cached {
		return nil
	}
	f.limit.queue.namespaces.last(namespace)
	return l.Remove(now, namespace, name)
}

// unsure is how long a snapshot counts that may exist. The cache has it by then if it
// does.
const unsure = 10 * time.Second

// Unsure says that it is not known whether a snapshot was created.
func (l *Limits) Unsure(now time.Time, namespace, name string) []Wake {
	f := l.inFlight[snapshotID(namespace, name)]
	if f == nil || f.cached {
		return nil
	}
	f.limit.remove(f)
	if end := now.Add(unsure); end.Before(f.until) {
		f.until = end
	}
	f.limit.add(f)
	return l.settle(now, f.limit)
}

// Count is what is known of one limit.
type Count struct{ InFlight, Waiting int }

// Counts returns the counts of the limits of which something is in flight or waits.
func (l *Limits) Counts(now time.Time) map[string]Count {
	all := make(map[string]Count, len(l.limits))
	for name, lim := range l.limits {
		c := Count{Waiting: len(lim.queue.waiting)}
		for _, f := range lim.flights { // those that have ended are freed by what wakes the next key
			if now.Before(f.until) {
				c.InFlight++
			}
		}
		all[name] = c
	}
	return all
}

// settle wakes the keys that may create a snapshot, and counts them as in flight. While
// others wait, one of them is woken when the next snapshot no longer counts.
func (l *Limits) settle(now time.Time, lim *limit) (wake []Wake) {
	l.expire(now, lim)
	for !lim.full() {
		req, ok := lim.queue.next(lim.mayHaveMore)
		if !ok {
			break
		}
		delete(l.waits, req)
		l.add(lim, &flight{id: keyID(req), until: now.Add(longest)})
		wake = append(wake, Wake{Request: req})
	}
	if len(lim.queue.waiting) > 0 {
		if ends := lim.flights[0].until; lim.queue.waiting[lim.timer] == nil || ends.Before(lim.timerAt) {
			lim.timer, lim.timerAt = lim.queue.first(), ends
			wake = append(wake, Wake{Request: lim.timer, After: ends.Sub(now)})
		}
	}
	if lim.idle() {
		delete(l.limits, lim.name)
	}
	return wake
}

func (l *Limits) expire(now time.Time, lim *limit) {
	for f := lim.ended(now); f != nil; f = lim.ended(now) {
		l.free(f)
	}
}

// limit returns the limit of a name. One of which nothing is in flight or waits is
// forgotten when it is settled.
func (l *Limits) limit(name string) *limit {
	lim := l.limits[name]
	if lim == nil {
		lim = newLimit(name, l.size)
		l.limits[name] = lim
	}
	return lim
}

// put counts a snapshot as in flight, and no longer as it did before.
func (l *Limits) put(lim *limit, s Snapshot, until time.Time, cached bool) {
	l.free(l.inFlight[s.id()])
	l.add(lim, &flight{id: s.id(), schedule: s.Schedule, until: until, cached: cached})
}

func (l *Limits) add(lim *limit, f *flight) {
	l.inFlight[f.id] = f
	lim.add(f)
}

// free ends a flight, if there is one.
func (l *Limits) free(f *flight) {
	if f != nil {
		delete(l.inFlight, f.id)
		f.limit.remove(f)
	}
}

func (l *Limits) push(lim *limit, req Request, since time.Time) {
	if l.waits[req] == nil {
		l.waits[req] = lim
		lim.queue.push(req, since)
	}
}

// dequeue makes a key leave the queue in which it waits, if it does.
func (l *Limits) dequeue(req Request) {
	if lim := l.waits[req]; lim != nil {
		delete(l.waits, req)
		lim.queue.leave(req)
	}
}
