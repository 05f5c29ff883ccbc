// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"time"
)

// Reference is what the reference run shows of a workload.
type Reference struct {
	Workload string
	Trace    Trace
	// Uncut is set if an uncut snapshot exists at the start, Imports if an imported one covers a slot.
	Uncut, Imports bool
}

var (
	crashActions = []Action{CrashBefore, CrashAfter}
	errorActions = []Action{Conflict, TooMany, Internal, Unavailable, TimedOut, Lost, Quota, Terminating}
	listActions  = []Action{Internal, Gone, Stale}
	// No API server answers a live read with an old state.
	liveActions      = []Action{Internal, Gone}
	discoveryActions = []Action{Internal, Unavailable}
	eventActions     = []Action{Drop, DropGone, Delay, Duplicate}
)

// Options are what plans depend on beside traces.
type Options struct {
	// Idle is how long the end states of class Idle are observed.
	Idle time.Duration
	// Discovery is set for one workload: discovery is the same for all.
	Discovery bool
}

// Plans lists the plans of a class.
func (r Reference) Plans(class Class, o Options) (all []Plan) {
	switch class {
	case Crash:
		return r.each(Crash, Point.IsWrite, crashActions)
	case APIErrors:
		return r.each(APIErrors, Point.IsWrite, errorActions)
	case Reads:
		all = slices.Concat(r.each(Reads, Point.IsList, listActions), r.each(Reads, Point.IsLive, liveActions))
		if o.Discovery {
			all = append(all, r.each(Reads, Point.IsDiscovery, discoveryActions)...)
		}
	case Watches:
		return r.each(Watches, Point.IsEvent, eventActions)
	case TimeTravel:
		return r.timeTravel()
	case TwoManagers:
		for _, how := range []Interleaving{BothFree, LateView, LateWrites} {
			p := r.plan(TwoManagers, string(how))
			p.Interleaving = how
			all = append(all, p)
		}
	case Idle:
		p := r.plan(Idle, o.Idle.String())
		p.IdleFor = o.Idle
		return []Plan{p}
	}
	return all
}

// plan returns a plan whose ID ends with some parts.
func (r Reference) plan(class Class, parts ...string) Plan {
	return Plan{ID: strings.Join(append([]string{string(class), r.Workload}, parts...), ":"), Class: class, Workload: r.Workload}
}

func (r Reference) single(class Class, f Fault) Plan {
	p := r.plan(class, f.String())
	p.Faults = []Fault{f}
	return p
}

// each lists the plans with one action at one of the points.
func (r Reference) each(class Class, at func(Point) bool, actions []Action) []Plan {
	var all []Plan
	for _, point := range r.Trace.where(at) {
		for _, action := range actions {
			if action != Stale {
				all = append(all, r.single(class, Fault{At: point, Action: action}))
				continue
			}
			for age := range ages {
				all = append(all, r.single(class, Fault{At: point, Action: action, Age: age}))
			}
		}
	}
	return all
}

// timeTravel lists the plans that start in the past, and those that return to it after a write. The age changes from write to write, so
// that every age meets every kind of write.
func (r Reference) timeTravel() []Plan {
	var all []Plan
	for age, name := range ages {
		p := r.plan(TimeTravel, "start", name)
		p.StartAge, p.HidesUncut = &age, r.Uncut || r.Imports
		all = append(all, p)
	}
	for i, point := range r.Trace.where(Point.IsWrite) {
		for age := range 2 {
			p := r.single(TimeTravel, Fault{At: point, Action: Travel, Age: (i + age) % len(ages)})
			p.HidesUncut = r.Uncut || r.Imports
			all = append(all, p)
		}
	}
	return all
}
