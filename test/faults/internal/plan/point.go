// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
)

// DiscoveryPath is the resource of requests that name none.
const DiscoveryPath = "path"

// OfNeighbor begins the names of objects in another namespace than the run's.
const OfNeighbor = "neighbor/"

// Point is a place in a run where a fault can be injected. It is the same in every run of a workload: objects are named by their role,
// not by slots and UIDs.
type Point struct {
	// Verb is a request's verb as in RBAC, "live-list" for a list that fills no cache, or an event's type: "added", "modified",
	// "deleted".
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

// IsWrite reports whether the point is a request that changes something.
func (p Point) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, p.Verb)
}

// IsList reports whether the point is a list that fills a cache.
func (p Point) IsList() bool { return p.Verb == "list" }

// IsLive reports whether the point is a live read of one object, or a list that fills no cache.
func (p Point) IsLive() bool {
	return p.Verb == "live-list" || p.Verb == "get" && p.Resource != DiscoveryPath
}

// IsDiscovery reports whether the point is a discovery request.
func (p Point) IsDiscovery() bool { return p.Verb == "get" && p.Resource == DiscoveryPath }

// IsEvent reports whether the point is a watch event.
func (p Point) IsEvent() bool {
	return slices.Contains([]string{"added", "modified", "deleted"}, p.Verb)
}

// Trace is the points of one run, in order.
type Trace []Point

// Common returns the points that all traces share. A plan at any other point would often miss it.
func (t Trace) Common(others ...Trace) Trace {
	return t.where(func(p Point) bool {
		return !slices.ContainsFunc(others, func(o Trace) bool { return !slices.Contains(o, p) })
	})
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
