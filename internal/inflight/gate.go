// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Gate knows which snapshots are in flight, and who waits. It is not safe for
// concurrent use. Its methods return the keys to wake. Its size and the cost of a call
// do not depend on drivers of which nothing is in flight or waits.
type Gate struct {
	limit int
	// drivers are those of places and keys that wait.
	drivers map[string]*driver
	places  map[holder]*place
	// waits is the driver that a key waits for.
	waits map[Request]*driver
}

// NewGate returns a Gate that admits so many snapshots of a driver at a time; zero:
// any number.
func NewGate(limit int) *Gate {
	return &Gate{limit: limit, drivers: map[string]*driver{}, places: map[holder]*place{}, waits: map[Request]*driver{}}
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
	// Driver is the one whose limit it counts towards. Those that are unknown, the empty
	// string, have one limit in common.
	Driver        string
	ReadyDeadline time.Duration
}

func (s Snapshot) holder() holder { return snapshotHolder(s.Namespace, s.Name) }

func (s Snapshot) lifetime() time.Duration { return min(max(s.ReadyDeadline, shortest), longest) }

// Ask returns whether a key may create a snapshot now, and takes a place for it.
// Otherwise the key waits, and is woken when it is its turn. since is the time from
// which it lacks a snapshot.
func (g *Gate) Ask(now time.Time, req Request, s Snapshot, since time.Time) (admitted bool, wake []Wake) {
	d := g.driver(s.Driver)
	wake = g.leave(now, req, d)
	if d.alarm == req {
		d.alarm = Request{} // the queue holds a key once: this pass may have consumed it
	}
	g.expire(now, d)
	held, woken := g.places[s.holder()], g.places[keyHolder(req)]
	if held == nil && woken == nil {
		g.push(d, req, since)
		wake = append(wake, g.settle(now, d)...)
		woken = g.places[keyHolder(req)]
	}
	if admitted = held != nil || woken != nil; admitted {
		g.free(woken)
		g.leaveLine(req)
		if held == nil || !held.shown {
			g.put(d, s, now.Add(s.lifetime()), false)
		}
	}
	wake = append(wake, g.settle(now, d)...)
	return admitted, slices.DeleteFunc(wake, func(w Wake) bool { return admitted && w.Request == req })
}

// Leave says that a key has nothing to create.
func (g *Gate) Leave(now time.Time, req Request) []Wake { return g.leave(now, req, nil) }

// leave makes a key give up what it waits for or was woken for, but of one driver.
func (g *Gate) leave(now time.Time, req Request, except *driver) (wake []Wake) {
	if d := g.waits[req]; d != nil && d != except {
		g.leaveLine(req)
		wake = g.settle(now, d)
	}
	if p := g.places[keyHolder(req)]; p != nil && p.driver != except {
		g.free(p)
		wake = append(wake, g.settle(now, p.driver)...)
	}
	return wake
}

// ParentDeleted makes the keys of a parent leave the lines, and wakes them: none of them
// would come otherwise, and a parent that was created again under the name may have
// asked already.
func (g *Gate) ParentDeleted(now time.Time, parent types.NamespacedName) (wake []Wake) {
	for _, d := range g.drivers {
		for _, req := range d.line.of(parent) {
			g.leaveLine(req)
			wake = append(wake, Wake{Request: req})
		}
		wake = append(wake, g.settle(now, d)...)
	}
	return wake
}

// Of returns the names of the snapshots of a parent that have a place.
func (g *Gate) Of(parent types.NamespacedName) (names []string) {
	for h, p := range g.places {
		if h.snapshot != "" && h.namespace == parent.Namespace && p.schedule == parent.Name {
			names = append(names, h.snapshot)
		}
	}
	return names
}

// Show says that the cache shows an uncut snapshot.
func (g *Gate) Show(now, created time.Time, s Snapshot) (wake []Wake) {
	until := created.Add(s.lifetime())
	if latest := now.Add(s.lifetime()); until.After(latest) { // its creation is in the future
		until = latest
	}
	d := g.driver(s.Driver)
	if p := g.places[s.holder()]; p != nil && p.driver != d {
		wake = g.Remove(now, s.Namespace, s.Name)
	}
	g.put(d, s, until, true)
	return append(wake, g.settle(now, d)...)
}

// Remove says that a snapshot is cut, is being deleted, is deleted, or does not count
// for another reason.
func (g *Gate) Remove(now time.Time, namespace, name string) []Wake {
	p := g.places[snapshotHolder(namespace, name)]
	if p == nil {
		return nil
	}
	g.free(p)
	return g.settle(now, p.driver)
}

// Failed says that a snapshot which was admitted was not created, as far as is known.
// Its key waits again, after those of other namespaces: creates that hang must not
// overtake. What the cache shows exists all the same.
func (g *Gate) Failed(now time.Time, namespace, name string) []Wake {
	p := g.places[snapshotHolder(namespace, name)]
	if p == nil || p.shown {
		return nil
	}
	p.driver.line.namespaces.last(namespace)
	return g.Remove(now, namespace, name)
}

// unsure is how long a snapshot counts that may exist. The cache shows it by then if it
// does.
const unsure = 10 * time.Second

// Unsure says that it is not known what became of a snapshot which was admitted.
func (g *Gate) Unsure(now time.Time, namespace, name string) []Wake {
	p := g.places[snapshotHolder(namespace, name)]
	if p == nil || p.shown {
		return nil
	}
	p.driver.remove(p)
	if end := now.Add(unsure); end.Before(p.until) {
		p.until = end
	}
	p.driver.add(p)
	return g.settle(now, p.driver)
}

// Count is what is known of one driver.
type Count struct{ InFlight, Waiting int }

// Counts returns the counts of the drivers of which something is in flight or waits.
func (g *Gate) Counts(now time.Time) map[string]Count {
	all := make(map[string]Count, len(g.drivers))
	for name, d := range g.drivers {
		c := Count{Waiting: len(d.line.waiting)}
		for _, p := range d.places { // those that have ended are freed by what wakes the next key
			if now.Before(p.until) {
				c.InFlight++
			}
		}
		all[name] = c
	}
	return all
}

// settle gives the free places of a driver to the keys whose turn it is, and returns
// them. While keys wait, one of them is woken when the next place ends.
func (g *Gate) settle(now time.Time, d *driver) (wake []Wake) {
	g.expire(now, d)
	for !d.full() {
		req, ok := d.line.next(d.mayHoldMore)
		if !ok {
			break
		}
		delete(g.waits, req)
		g.add(d, &place{holder: keyHolder(req), until: now.Add(longest)})
		wake = append(wake, Wake{Request: req})
	}
	if len(d.line.waiting) > 0 {
		if ends := d.places[0].until; d.line.waiting[d.alarm] == nil || ends.Before(d.alarmAt) {
			d.alarm, d.alarmAt = d.line.first(), ends
			wake = append(wake, Wake{Request: d.alarm, After: ends.Sub(now)})
		}
	}
	if d.idle() {
		delete(g.drivers, d.name)
	}
	return wake
}

func (g *Gate) expire(now time.Time, d *driver) {
	for p := d.ended(now); p != nil; p = d.ended(now) {
		g.free(p)
	}
}

// driver returns the driver of a name. What is neither given a place nor a key is
// forgotten when it is settled.
func (g *Gate) driver(name string) *driver {
	d := g.drivers[name]
	if d == nil {
		d = newDriver(name, g.limit)
		g.drivers[name] = d
	}
	return d
}

// put gives a snapshot a place of a driver, in place of the one that it has.
func (g *Gate) put(d *driver, s Snapshot, until time.Time, shown bool) {
	g.free(g.places[s.holder()])
	g.add(d, &place{holder: s.holder(), schedule: s.Schedule, until: until, shown: shown})
}

func (g *Gate) add(d *driver, p *place) {
	g.places[p.holder] = p
	d.add(p)
}

// free gives up a place, if there is one.
func (g *Gate) free(p *place) {
	if p != nil {
		delete(g.places, p.holder)
		p.driver.remove(p)
	}
}

func (g *Gate) push(d *driver, req Request, since time.Time) {
	if g.waits[req] == nil {
		g.waits[req] = d
		d.line.push(req, since)
	}
}

// leaveLine makes a key leave the line in which it waits, if it does.
func (g *Gate) leaveLine(req Request) {
	if d := g.waits[req]; d != nil {
		delete(g.waits, req)
		d.line.leave(req)
	}
}
