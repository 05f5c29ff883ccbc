// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
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
	n := &names{logical: map[string]string{}, series: map[string]int{}, counts: map[plan.Point]int{}, events: map[string]plan.Point{}}
	maps.Copy(n.logical, nicknames)
	return n
}

// of returns the logical name of an object: "data-0+2" is the second snapshot of data-0 that appears.
func (n *names) of(resource, name string) string {
	known, ok := n.logical[name]
	if ok || resource != "volumesnapshots" {
		return cmp.Or(known, name)
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
func (n *names) request(q *request) plan.Point {
	p := plan.Point{Verb: q.Verb, Resource: q.Resource, Object: plan.OfNeighbor + q.Name}
	if q.Subresource != "" {
		p.Resource += "/" + q.Subresource
	}
	if q.neighbor {
		return n.count(p)
	}
	p.Object = cmp.Or(n.of(q.Resource, q.Name), "all")
	switch {
	case !q.IsResourceRequest:
		p.Resource, p.Object = plan.DiscoveryPath, q.Path
	case q.Resource == "events": // their names are random
		p.Object = cmp.Or(headOf(q.body).Reason, "all")
	case q.Verb == "list" && q.metadata && !q.fillsCache():
		p.Verb = "live-list"
	}
	return n.count(p)
}

// event returns the point of a watch event. The same change is the same point on every watch; first returns whether it is new.
func (n *names) event(kind, resource string, h head) (p plan.Point, first bool) {
	key := kind + "/" + resource + "/" + h.Metadata.Name + "/" + h.Metadata.ResourceVersion
	if p, ok := n.events[key]; ok {
		return p, false
	}
	p = n.count(plan.Point{Verb: kind, Resource: resource, Object: n.of(resource, h.Metadata.Name)})
	n.events[key] = p
	return p, true
}

func (n *names) count(p plan.Point) plan.Point {
	n.counts[p]++
	p.Nth = n.counts[p]
	return p
}
