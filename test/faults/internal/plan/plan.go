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
	TwoManagers Class = "two-managers"
	Idle        Class = "idle"
)

// Classes lists them in the order of the table.
var Classes = []Class{Crash, TwoManagers, Idle}

// Action is what the wire does at a point.
type Action string

// Actions at a request.
const (
	// CrashBefore and CrashAfter end the operator before a write, or after its commit.
	CrashBefore Action = "before"
	CrashAfter  Action = "after"
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

// Fault is one action at one point.
type Fault struct {
	At     Point
	Action Action
}

// String returns the fault as plan IDs contain it.
func (f Fault) String() string { return fmt.Sprintf("%s:%s", f.At, f.Action) }

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

// Plans lists the plans of a class. The end states of class Idle are observed for some time.
func (r Reference) Plans(class Class, idle time.Duration) (all []Plan) {
	switch class {
	case Crash:
		for _, point := range r.Trace.where(Point.IsWrite) {
			for _, action := range []Action{CrashBefore, CrashAfter} {
				f := Fault{At: point, Action: action}
				p := r.plan(Crash, f)
				p.Fault = &f
				all = append(all, p)
			}
		}
	case TwoManagers:
		return []Plan{r.plan(TwoManagers, "free")}
	case Idle:
		p := r.plan(Idle, idle)
		p.IdleFor = idle
		return []Plan{p}
	}
	return all
}

// plan returns a plan whose ID ends with what is special about it.
func (r Reference) plan(class Class, special any) Plan {
	return Plan{ID: fmt.Sprintf("%s:%s:%s", class, r.Workload, special), Class: class}
}
