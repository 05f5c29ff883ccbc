// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"container/heap"
	"time"
)

// longest is how long an uncut snapshot counts at most. A driver that is down for
// longer does not hold its places for ever.
const longest = time.Hour

// shortest is how long an uncut snapshot counts at least: a short readyDeadline must not
// evade the limit.
const shortest = time.Minute

// driver is the places of one driver and the keys that wait for one.
type driver struct {
	name  string
	limit int
	// places are the first to end first.
	places places
	// held counts the places of each namespace, and capped those that are within its half.
	held   map[string]int
	capped int
	line   line
	// alarm is the key that is woken when a place ends by time alone, and when.
	alarm   Request
	alarmAt time.Time
}

// holder holds a place: a snapshot, by namespace and name, or a key that has been woken
// to create one.
type holder struct{ namespace, snapshot, schedule, key string }

func snapshotHolder(namespace, name string) holder {
	return holder{namespace: namespace, snapshot: name}
}

func keyHolder(req Request) holder {
	return holder{namespace: req.Parent.Namespace, schedule: req.Parent.Name, key: req.MapKey}
}

// place is until when a holder counts, of which schedule and driver, and whether the
// cache shows its snapshot.
type place struct {
	holder   holder
	schedule string
	driver   *driver
	until    time.Time
	shown    bool
	// index in the driver's places.
	index int
}

func newDriver(name string, limit int) *driver {
	return &driver{name: name, limit: limit, held: map[string]int{}, line: newLine()}
}

func (d *driver) add(p *place) {
	p.driver = d
	heap.Push(&d.places, p)
	d.count(p.holder.namespace, 1)
}

func (d *driver) remove(p *place) {
	heap.Remove(&d.places, p.index)
	d.count(p.holder.namespace, -1)
}

func (d *driver) count(namespace string, more int) {
	d.capped -= min(d.held[namespace], d.half())
	d.held[namespace] += more
	d.capped += min(d.held[namespace], d.half())
	if d.held[namespace] == 0 {
		delete(d.held, namespace)
	}
}

// ended returns a place that has ended, or nil. No place ends later than longest from
// now, except after the clock was set back.
func (d *driver) ended(now time.Time) *place {
	if len(d.places) == 0 {
		return nil
	}
	if last := now.Add(longest); d.places[0].until.After(last) {
		for _, p := range d.places {
			p.until = last
		}
	}
	if first := d.places[0]; !now.Before(first.until) {
		return first
	}
	return nil
}

// idle returns whether nobody holds a place or waits for one.
func (d *driver) idle() bool { return len(d.places) == 0 && len(d.line.waiting) == 0 }

// half of the places is what a namespace gets while others wait.
func (d *driver) half() int { return (d.limit + 1) / 2 }

// full returns whether there is no place left. Those that a namespace has beyond half do
// not count while a key of another namespace waits.
func (d *driver) full() bool {
	taken := len(d.places)
	switch waiting := d.line.namespaces.order; {
	case len(waiting) == 1:
		own := d.held[waiting[0]]
		taken = d.capped - min(own, d.half()) + own
	case len(waiting) > 1:
		taken = d.capped
	}
	return d.limit > 0 && taken >= d.limit
}

// mayHoldMore returns whether a namespace may get another place: while others wait, it
// gets none beyond half.
func (d *driver) mayHoldMore(namespace string) bool {
	return len(d.line.namespaces.order) == 1 || d.held[namespace] < d.half()
}

// places implements heap.Interface: the place that ends first is first.
type places []*place

func (h places) Len() int           { return len(h) }
func (h places) Less(i, j int) bool { return h[i].until.Before(h[j].until) }
func (h places) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *places) Push(x any) {
	p := x.(*place)
	p.index = len(*h)
	*h = append(*h, p)
}

// Pop implements heap.Interface.
func (h *places) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return p
}
