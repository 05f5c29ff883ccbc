// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan says what is done to the operator in one run, and lists all that
// could be: faults are put at the points of a trace, one after the other, and
// not drawn.
package plan

import (
	"fmt"
	"slices"
)

// Point is a place in a run where a fault can be put. A point is the same in
// every run of a workload: objects are named by what they are for, not by slots
// and UIDs.
type Point struct {
	// Verb is a request's, as in RBAC, "live-list" for a list that fills no cache;
	// or an event's: "added", "modified", "deleted".
	Verb string
	// Resource is a plural with its subresource.
	Resource string
	// Object is the logical name: of a snapshot that the operator takes, its PVC
	// and which one of the PVC's it is.
	Object string
	// Nth counts from 1 what is otherwise the same.
	Nth int
}

// String is the point as plan IDs have it.
func (p Point) String() string {
	return fmt.Sprintf("%s.%s.%s.%d", p.Verb, p.Resource, p.Object, p.Nth)
}

// Write tells whether a request that changes something is meant.
func (p Point) Write() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, p.Verb)
}

// List tells whether a list is meant that fills a cache, be it the beginning of a
// watch.
func (p Point) List() bool { return p.Verb == "list" }

// LiveList tells whether a list is meant that fills no cache.
func (p Point) LiveList() bool { return p.Verb == "live-list" }

// Get tells whether a live read of one object is meant.
func (p Point) Get() bool { return p.Verb == "get" && p.Resource != Path }

// Path is the resource of what is none: discovery.
const Path = "path"

// Discovery tells whether a look at what the API server serves is meant.
func (p Point) Discovery() bool { return p.Verb == "get" && p.Resource == Path }

// Event tells whether an event of a watch is meant.
func (p Point) Event() bool {
	return slices.Contains([]string{"added", "modified", "deleted"}, p.Verb)
}

// Trace is the points of one run, in order.
type Trace []Point

// Common keeps the points of a trace that others have too: what differs from run
// to run makes plans that miss.
func (t Trace) Common(others ...Trace) Trace {
	var common Trace
	for _, p := range t {
		if !slices.ContainsFunc(others, func(o Trace) bool { return !slices.Contains(o, p) }) {
			common = append(common, p)
		}
	}
	return common
}

func (t Trace) where(holds func(Point) bool) Trace {
	var found Trace
	for _, p := range t {
		if holds(p) {
			found = append(found, p)
		}
	}
	return found
}
