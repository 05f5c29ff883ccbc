// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package inflight

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Gate knows which snapshots are in flight, and who waits. It is not safe for
// concurrent use. Its methods return the keys to wake.
type Gate struct {
	limit   int
	drivers map[string]*driver
}

// NewGate returns a Gate that admits so many snapshots of a driver at a time; zero:
// any number.
func NewGate(limit int) *Gate { return &Gate{limit: limit, drivers: map[string]*driver{}} }

// Wake is a key to reconcile after a time.
type Wake struct {
	Request plan.Request
	After   time.Duration
}

// Snapshot is one that exists or is about to: its name, in the namespace of its
// schedule, and for how long it counts.
type Snapshot struct {
	Namespace, Name string
	// Driver is empty if it is unknown.
	Driver        string
	ReadyDeadline time.Duration
}

func (s Snapshot) holder() holder { return snapshotHolder(s.Namespace, s.Name) }

func (s Snapshot) lifetime() time.Duration { return min(s.ReadyDeadline, longest) }

// Ask returns whether a key may create a snapshot now, and takes a place for it.
// Otherwise the key waits, and is woken when it is its turn. since is the time from
// which it lacks a snapshot. Of an unknown driver any number is admitted.
func (g *Gate) Ask(now time.Time, req plan.Request, s Snapshot, since time.Time) (admitted bool, wake []Wake) {
	wake = g.leave(now, req, s.Driver)
	if s.Driver == "" {
		return true, wake
	}
	d := g.driver(now, s.Driver)
	if d.alarm == req {
		d.alarm = plan.Request{} // the queue holds a key once: this pass may have consumed it
	}
	d.expire(now)
	held, admitted := d.places[s.holder()]
	if !admitted && !d.holds(keyHolder(req)) {
		d.line.push(req, since)
		wake = append(wake, d.settle(now)...)
	}
	if d.free(keyHolder(req)) || admitted {
		admitted = true
		d.line.leave(req)
		if !held.shown {
			d.put(s.holder(), place{until: now.Add(s.lifetime())})
		}
	}
	wake = append(wake, d.settle(now)...)
	return admitted, slices.DeleteFunc(wake, func(w Wake) bool { return admitted && w.Request == req })
}

// Leave says that a key has nothing to create.
func (g *Gate) Leave(now time.Time, req plan.Request) []Wake { return g.leave(now, req, "") }

// ParentDeleted makes the keys of a parent leave the lines, and wakes them: none of them
// would come otherwise, and a parent that was created again under the name may have
// asked already.
func (g *Gate) ParentDeleted(now time.Time, parent types.NamespacedName) (wake []Wake) {
	for _, d := range g.drivers {
		for _, req := range d.line.of(parent) {
			d.line.leave(req)
			wake = append(wake, Wake{Request: req})
		}
		wake = append(wake, d.settle(now)...)
	}
	return wake
}

// leave makes a key leave the lines of all drivers but one.
func (g *Gate) leave(now time.Time, req plan.Request, except string) (wake []Wake) {
	for name, d := range g.drivers {
		if name == except {
			continue
		}
		waited, woken := d.line.leave(req), d.free(keyHolder(req))
		if waited || woken {
			wake = append(wake, d.settle(now)...)
		}
	}
	return wake
}

// Show says that the cache shows an uncut snapshot.
func (g *Gate) Show(now, created time.Time, s Snapshot) []Wake {
	until := created.Add(s.lifetime())
	if latest := now.Add(s.lifetime()); until.After(latest) { // its creation is in the future
		until = latest
	}
	d := g.holding(s.holder())
	switch {
	case d == nil && s.Driver == "":
		return nil
	case d == nil:
		d = g.driver(now, s.Driver)
	}
	d.put(s.holder(), place{until: until, shown: true})
	return d.settle(now)
}

// Remove says that a snapshot is cut, is being deleted, is deleted, or does not count
// for another reason.
func (g *Gate) Remove(now time.Time, namespace, name string) []Wake {
	h := snapshotHolder(namespace, name)
	d := g.holding(h)
	if d == nil {
		return nil
	}
	d.free(h)
	return d.settle(now)
}

// Refused says that a snapshot which was admitted was not created. What the cache
// shows exists all the same.
func (g *Gate) Refused(now time.Time, namespace, name string) []Wake {
	if d := g.holding(snapshotHolder(namespace, name)); d == nil || d.places[snapshotHolder(namespace, name)].shown {
		return nil
	}
	return g.Remove(now, namespace, name)
}

// unsure is how long a snapshot counts that may have been created. The cache shows it
// by then if it was.
const unsure = 10 * time.Second

// Unsure says that a snapshot which was admitted may have been created or not.
func (g *Gate) Unsure(now time.Time, namespace, name string) []Wake {
	h := snapshotHolder(namespace, name)
	d := g.holding(h)
	if d == nil || d.places[h].shown {
		return nil
	}
	d.put(h, place{until: now.Add(min(unsure, d.places[h].until.Sub(now)))})
	return d.settle(now)
}

// Count is what is known of one driver.
type Count struct {
	Driver            string
	InFlight, Waiting int
}

// Counts returns the counts of all drivers that are known, by name.
func (g *Gate) Counts(now time.Time) []Count {
	var all []Count
	for _, name := range slices.Sorted(maps.Keys(g.drivers)) {
		d := g.drivers[name]
		c := Count{Driver: name, Waiting: len(d.line.waiting)}
		for _, p := range d.places {
			if now.Before(p.until) {
				c.InFlight++
			}
		}
		all = append(all, c)
	}
	return all
}

// holding returns the driver with the place of a holder, or nil.
func (g *Gate) holding(h holder) *driver {
	for _, d := range g.drivers {
		if d.holds(h) {
			return d
		}
	}
	return nil
}

// manyDrivers is from how many drivers on idle ones are forgotten: anybody who can
// annotate a PVC can make up a driver.
const manyDrivers = 100

func (g *Gate) driver(now time.Time, name string) *driver {
	d := g.drivers[name]
	if d == nil {
		if len(g.drivers) >= manyDrivers {
			maps.DeleteFunc(g.drivers, func(_ string, d *driver) bool { return d.idle(now) })
		}
		d = newDriver(g.limit)
		g.drivers[name] = d
	}
	return d
}
