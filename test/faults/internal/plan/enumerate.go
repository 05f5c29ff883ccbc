// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"time"
)

// Reference is what the reference run shows of a workload.
type Reference struct {
	Workload string
	Trace    Trace
}

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
		return r.each(Crash, Point.IsWrite, CrashBefore, CrashAfter)
	case Reads:
		// No API server answers a live read with an old state.
		all = slices.Concat(r.each(Reads, Point.IsList, Internal, Gone, Stale), r.each(Reads, Point.IsLive, Internal, Gone))
		if o.Discovery {
			all = append(all, r.each(Reads, Point.IsDiscovery, Internal, Unavailable)...)
		}
	case TwoManagers:
		for _, how := range []Interleaving{BothFree, LateView, LateWrites} {
			p := r.plan(TwoManagers, how)
			p.Interleaving = how
			all = append(all, p)
		}
	case Idle:
		p := r.plan(Idle, o.Idle)
		p.IdleFor = o.Idle
		return []Plan{p}
	}
	return all
}

// plan returns a plan whose ID ends with what is special about it.
func (r Reference) plan(class Class, special any) Plan {
	return Plan{ID: fmt.Sprintf("%s:%s:%s", class, r.Workload, special), Class: class}
}

// each lists the plans with one action at one of the points.
func (r Reference) each(class Class, at func(Point) bool, actions ...Action) (all []Plan) {
	for _, point := range r.Trace.where(at) {
		for _, action := range actions {
			variants := 1
			if action == Stale {
				variants = len(ages)
			}
			for age := range variants {
				f := Fault{At: point, Action: action, Age: age}
				p := r.plan(class, f)
				p.Fault = &f
				all = append(all, p)
			}
		}
	}
	return all
}
