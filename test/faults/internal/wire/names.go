// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"maps"
	"regexp"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// createdName matches the name of a snapshot that the operator creates: PVC, slot and hash.
var createdName = regexp.MustCompile(`^(.+)-[0-9]{14}-[a-z2-7]{10}$`)

// names gives objects the same names in every run, and counts equal points.
type names struct {
	logical map[string]string
	series  map[string]int
	counts  map[plan.Point]int
	events  map[string]plan.Point
}

func newNames(nicknames map[string]string) *names {
	logical := map[string]string{}
	maps.Copy(logical, nicknames)
	return &names{
		logical: logical, series: map[string]int{},
		counts: map[plan.Point]int{}, events: map[string]plan.Point{},
	}
}

// of returns the logical name of an object: "data-0+2" is the second snapshot of
// data-0 that appears.
func (n *names) of(resource, name string) string {
	if known, ok := n.logical[name]; ok {
		return known
	}
	if resource != "volumesnapshots" {
		return name
	}
	logical := name
	if m := createdName.FindStringSubmatch(name); m != nil {
		n.series[m[1]]++
		logical = fmt.Sprintf("%s+%d", m[1], n.series[m[1]])
	}
	n.logical[name] = logical
	return logical
}

// request returns the point of a request.
func (n *names) request(q request) plan.Point {
	p := plan.Point{Verb: q.verb, Resource: q.resourcePath()}
	if q.neighbor {
		p.Object = plan.OfNeighbor + q.name
		return n.count(p)
	}
	p.Object = n.of(q.resource, q.name)
	switch {
	case q.resource == "":
		p.Resource, p.Object = plan.DiscoveryPath, q.path
	case q.resource == "events":
		// The names of events are random.
		p.Object = metaOf(q.body).Reason
	case q.verb == "watch" && q.initial:
		p.Verb = "list"
	case q.verb == "list" && q.metadata && !q.fillsCache():
		p.Verb = "live-list"
	}
	if p.Object == "" {
		p.Object = "all"
	}
	return n.count(p)
}

// event returns the point of a watch event. The same change is the same point on every
// watch; first reports whether it is new.
func (n *names) event(kind, resource string, m meta) (p plan.Point, first bool) {
	key := kind + "/" + resource + "/" + m.Metadata.Name + "/" + m.Metadata.ResourceVersion
	if p, ok := n.events[key]; ok {
		return p, false
	}
	p = n.count(plan.Point{Verb: kind, Resource: resource, Object: n.of(resource, m.Metadata.Name)})
	n.events[key] = p
	return p, true
}

func (n *names) count(p plan.Point) plan.Point {
	n.counts[p]++
	p.Nth = n.counts[p]
	return p
}
