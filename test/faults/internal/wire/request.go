// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// request is a request of an operator.
type request struct {
	httpapi.Request
	query url.Values
	// neighbor is set for a request in another namespace than the run's. No fault is injected at it, and nothing waits for it.
	neighbor bool
	point    plan.Point
	// sent is its index in what the Wire has sent.
	sent int
}

func parse(r *http.Request) (*request, error) {
	q, err := httpapi.Read(r)
	return &request{Request: q, query: r.URL.Query()}, err
}

// cached are the resources that the operator watches in all namespaces, and sees in one; of those that are in none, it sees the object
// with the name of the run's namespace. Deletes depend on the first three.
var cached = append([]string{"snapshotschedules", "persistentvolumeclaims", "volumesnapshots", snapshotClasses}, fleets...)

const (
	snapshotClasses = "volumesnapshotclasses"
	fleetResource   = "clustersnapshotschedules"
	namespaces      = "namespaces"
)

// fleets are the resources that are watched for ClusterSnapshotSchedules.
var fleets = []string{fleetResource, namespaces}

// fillsCache returns whether a list or watch is an informer's, in the run's namespace. Of namespaces it reads metadata; a list of one
// object only finds out whether they can be listed.
func (q *request) fillsCache() bool {
	metadata := q.Resource == namespaces && q.query.Get("limit") != "1"
	return q.readsMany() && q.Metadata == metadata && !q.neighbor && slices.Contains(cached, q.Resource)
}

func (q *request) readsMany() bool { return q.Verb == "list" || q.Verb == "watch" }

// isFleets returns whether a request is for ClusterSnapshotSchedules, or watches namespaces for them.
func (q *request) isFleets() bool {
	return q.Resource == fleetResource || q.Resource == namespaces && q.readsMany()
}

// isActivity returns whether a run waits for the end of the request.
func (q *request) isActivity() bool { return q.Verb != "watch" && !q.neighbor }

// isUnpaged returns whether a list asks for all objects at once.
func (q *request) isUnpaged() bool { return q.Verb == "list" && q.query.Get("limit") == "" }

// head is what is read of an object, a list, or a Status; nothing of text that is not JSON.
type head struct {
	Metadata        struct{ Continue string }
	Reason, Message string
}

func headOf(text []byte) head {
	var h head
	if json.Unmarshal(text, &h) != nil {
		return head{}
	}
	return h
}

// refusal returns what an API server answers when it refuses a request; nil for actions that are no refusals.
func refusal(action plan.Action, q *request) error {
	of := schema.GroupResource{Group: q.APIGroup, Resource: q.Resource}
	switch action {
	case plan.Quota:
		return apierrors.NewForbidden(of, q.Name, errors.New("exceeded quota: snapshots, requested: 1, used: 9, limited: 9"))
	case plan.Uninstalled:
		return apierrors.NewNotFound(of, q.Name)
	}
	return nil
}

// rbacDenied matches the API server's message when no role allows a request.
var rbacDenied = regexp.MustCompile(`User ".*" cannot [a-z]+ resource`)

// createdName matches the name of a snapshot that the operator creates: PVC, slot and hash.
var createdName = regexp.MustCompile(`^(.+)-[0-9]{14}-[a-z2-7]{10}$`)

// names gives objects the same names in every run, and counts equal points.
type names struct {
	logical map[string]string
	series  map[string]int
	counts  map[plan.Point]int
}

func newNames(nicknames map[string]string) names {
	n := names{logical: map[string]string{}, series: map[string]int{}, counts: map[plan.Point]int{}}
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
		p.Object = cmp.Or(headOf(q.Body).Reason, "all")
	}
	return n.count(p)
}

func (n *names) count(p plan.Point) plan.Point {
	n.counts[p]++
	p.Nth = n.counts[p]
	return p
}
