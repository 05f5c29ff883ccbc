// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"time"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// longest is how long an uncut snapshot counts at most. A driver that is down for
// longer does not hold its places for ever.
const longest = time.Hour

// driver is the places of one driver and the keys that wait for one.
type driver struct {
	limit  int
	places map[holder]place
	// held counts the places of each namespace.
	held map[string]int
	line line
	// earliest is not after the first end of a place.
	earliest time.Time
	// alarm is the key that is woken when a place ends by time alone, and when.
	alarm   plan.Request
	alarmAt time.Time
}

// holder holds a place: a snapshot, by namespace and name, or a key that has been woken
// to create one.
type holder struct{ namespace, snapshot, schedule, key string }

func snapshotHolder(namespace, name string) holder {
	return holder{namespace: namespace, snapshot: name}
}

func keyHolder(req plan.Request) holder {
	return holder{namespace: req.Parent.Namespace, schedule: req.Parent.Name, key: req.MapKey}
}

// place is until when a holder counts, and whether the cache shows its snapshot.
type place struct {
	until time.Time
	shown bool
}

func newDriver(limit int) *driver {
	return &driver{limit: limit, places: map[holder]place{}, held: map[string]int{}, line: newLine()}
}

func (d *driver) put(h holder, p place) {
	if !d.holds(h) {
		d.held[h.namespace]++
	}
	d.places[h] = p
	if d.earliest.IsZero() || p.until.Before(d.earliest) {
		d.earliest = p.until
	}
}

func (d *driver) holds(h holder) bool {
	_, known := d.places[h]
	return known
}

// free gives up a place. It returns whether there was one.
func (d *driver) free(h holder) bool {
	known := d.holds(h)
	if known {
		delete(d.places, h)
		if d.held[h.namespace]--; d.held[h.namespace] == 0 {
			delete(d.held, h.namespace)
		}
	}
	return known
}

// expire frees the places that have ended. No place ends later than longest from now,
// except after the clock was set back.
func (d *driver) expire(now time.Time) {
	last := now.Add(longest)
	if now.Before(d.earliest) && !d.earliest.After(last) {
		return
	}
	d.earliest = time.Time{}
	for h, p := range d.places {
		if !now.Before(p.until) {
			d.free(h)
			continue
		}
		if p.until.After(last) {
			p.until = last
		}
		d.put(h, p)
	}
}

// idle returns whether nobody holds a place or waits for one.
func (d *driver) idle(now time.Time) bool {
	if len(d.line.waiting) > 0 {
		return false
	}
	d.expire(now)
	return len(d.places) == 0
}

// full returns whether there is no place left.
func (d *driver) full() bool { return d.limit > 0 && len(d.places) >= d.limit }

// settle gives the free places to the keys whose turn it is, and returns them. While
// keys wait, one of them is woken when the next place ends.
func (d *driver) settle(now time.Time) (wake []Wake) {
	d.expire(now)
	for !d.full() {
		req, ok := d.line.next(d.mayHoldMore)
		if !ok {
			break
		}
		d.put(keyHolder(req), place{until: now.Add(longest)})
		wake = append(wake, Wake{Request: req})
	}
	if len(d.line.waiting) > 0 && (d.line.waiting[d.alarm] == nil || d.earliest.Before(d.alarmAt)) {
		d.alarm, d.alarmAt = d.line.first(), d.earliest
		wake = append(wake, Wake{Request: d.alarm, After: d.earliest.Sub(now)})
	}
	return wake
}

// mayHoldMore returns whether a namespace may get another place: while others wait, it
// holds no more than half, rounded up.
func (d *driver) mayHoldMore(namespace string) bool {
	return len(d.line.namespaces.order) == 1 || d.held[namespace] < (d.limit+1)/2
}
