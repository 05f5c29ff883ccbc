// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan enumerates the fault plans of a workload from the trace of its reference run.
//
// The vocabulary: a workload is a scenario that the operator has to handle. Its reference run, without faults, gives a trace: a list of
// points, each a request. A fault is an action at a point. A plan is one run of a workload with its faults, and belongs to a class.
package plan

import (
	"fmt"
	"slices"
	"time"
)

// Class groups plans of one kind.
type Class string

// The classes of plans.
const (
	Crash       Class = "crash"
	Reads       Class = "reads"
	TwoManagers Class = "two-managers"
	Idle        Class = "idle"
)

// Classes lists them in the order of the table.
var Classes = []Class{Crash, Reads, TwoManagers, Idle}

// Action is what the wire does at a point.
type Action string

// Actions at a request.
const (
	// CrashBefore and CrashAfter end the operator before a write, or after its commit.
	CrashBefore Action = "before"
	CrashAfter  Action = "after"
	Internal    Action = "500"
	Unavailable Action = "503"
	Gone        Action = "410"
	// Stale answers a list with an earlier state.
	Stale Action = "stale"
)

// Actions of workloads, in every run.
const (
	Quota Action = "403-quota"
	// Uninstalled answers as if the CRD were not installed.
	Uninstalled Action = "404"
	Delay       Action = "delayed"
	// Hang never answers.
	Hang Action = "hang"
)

// ages name the values of Fault.Age.
var ages = []string{"one-change-back", "half-way-back", "before-anything"}

// Fault is one action at one point.
type Fault struct {
	At     Point
	Action Action
	// Age selects the state that Stale shows: 0 is one change back, 1 half of the run so far, 2 before any change.
	Age int
}

// String returns the fault as plan IDs contain it.
func (f Fault) String() string {
	if f.Action == Stale {
		return fmt.Sprintf("%s:%s-%s", f.At, f.Action, ages[f.Age])
	}
	return fmt.Sprintf("%s:%s", f.At, f.Action)
}

// Plan is one run of a workload with its faults.
type Plan struct {
	// ID names the plan on the command line: class, workload, points and actions.
	ID    string
	Class Class
	// Fault, if set, is injected once.
	Fault *Fault
	// IdleFor is how long the end state is observed.
	IdleFor time.Duration
}

// ShowsEverything reports whether one operator at a time is shown all that exists when it starts. What it does not know is in flight it
// cannot count.
func (p Plan) ShowsEverything() bool { return !p.ShowsPast() && p.Class != TwoManagers }

// ShowsPast reports whether an operator is shown what was before.
func (p Plan) ShowsPast() bool { return p.Fault != nil && p.Fault.Action == Stale }

// DiscoveryPath is the resource of requests that name none.
const DiscoveryPath = "path"

// OfNeighbor begins the names of objects in another namespace than the run's.
const OfNeighbor = "neighbor/"

// Point is a request of a run, at which a fault can be injected. It is the same in every run of a workload: objects are named by their
// role, not by slots and UIDs.
type Point struct {
	// Verb is that of RBAC, or "live-list" for a list that fills no cache.
	Verb string
	// Resource is the plural with its subresource.
	Resource string
	// Object is the logical name. A snapshot that the operator creates is named by its PVC and a number.
	Object string
	// Nth counts, from 1, points that are equal otherwise.
	Nth int
}

// String returns the point as plan IDs contain it.
func (p Point) String() string {
	return fmt.Sprintf("%s.%s.%s.%d", p.Verb, p.Resource, p.Object, p.Nth)
}

// IsWrite reports whether the request changes something.
func (p Point) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, p.Verb)
}

// IsList reports whether the request is a list that fills a cache.
func (p Point) IsList() bool { return p.Verb == "list" }

// IsLive reports whether the request is a live read of one object, or a list that fills no cache.
func (p Point) IsLive() bool {
	return p.Verb == "live-list" || p.Verb == "get" && p.Resource != DiscoveryPath
}

// IsDiscovery reports whether the request is one of discovery.
func (p Point) IsDiscovery() bool { return p.Verb == "get" && p.Resource == DiscoveryPath }

// Trace is the points of one run, in order.
type Trace []Point

// Common returns the points that two traces share. A plan at any other point would often miss it.
func (t Trace) Common(other Trace) Trace {
	return t.where(func(p Point) bool { return slices.Contains(other, p) })
}

func (t Trace) where(holds func(Point) bool) Trace {
	return slices.DeleteFunc(slices.Clone(t), func(p Point) bool { return !holds(p) })
}

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
		return []Plan{r.plan(TwoManagers, "free")}
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
