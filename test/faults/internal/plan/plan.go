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

// Actions at a request: CrashBefore and CrashAfter are those of plans, the others those of workloads, in every run.
const (
	// CrashBefore and CrashAfter end the operator before a write, or after its commit.
	CrashBefore Action = "before"
	CrashAfter  Action = "after"
	Quota       Action = "403-quota"
	// Uninstalled answers as if the CRD were not installed.
	Uninstalled Action = "404"
	Delay       Action = "delayed"
	// Hang never answers.
	Hang Action = "hang"
)

// Plan is one run of a workload.
type Plan struct {
	Class Class
	// Name is that of its test, below those of class and workload.
	Name string
	// Action, if there is one, is injected once, at a point.
	Action Action
	At     Point
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
	// Verb is that of RBAC.
	Verb string
	// Resource is the plural with its subresource.
	Resource string
	// Object is the logical name. A snapshot that the operator creates is named by its PVC and a number.
	Object string
	// Nth counts, from 1, points that are equal otherwise.
	Nth int
}

// String returns the point as plans' names contain it.
func (p Point) String() string {
	return fmt.Sprintf("%s.%s.%s.%d", p.Verb, p.Resource, p.Object, p.Nth)
}

// IsWrite reports whether the request changes something.
func (p Point) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, p.Verb)
}

// IsDiscovery reports whether the request is one of discovery.
func (p Point) IsDiscovery() bool { return p.Verb == "get" && p.Resource == DiscoveryPath }

// Common returns the points that the traces of two runs share. A plan at any other point would often miss it.
func Common(trace, other []Point) []Point {
	return slices.DeleteFunc(slices.Clone(trace), func(p Point) bool { return !slices.Contains(other, p) })
}

// Of lists the plans of a class for a workload whose reference run has a trace. The end states of class Idle are observed for some time.
func Of(class Class, trace []Point, idle time.Duration) (all []Plan) {
	switch class {
	case Crash:
		for _, point := range trace {
			for _, action := range []Action{CrashBefore, CrashAfter} {
				if point.IsWrite() {
					all = append(all, Plan{Class: class, Name: fmt.Sprintf("%s:%s", point, action), At: point, Action: action})
				}
			}
		}
	case TwoManagers:
		all = append(all, Plan{Class: class, Name: "free"})
	case Idle:
		all = append(all, Plan{Class: class, Name: idle.String(), IdleFor: idle})
	}
	return all
}
