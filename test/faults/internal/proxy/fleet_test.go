// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

const (
	allFleets     = "/apis/snapshots.mapcontroller.dev/v1alpha1/clustersnapshotschedules"
	allNamespaces = "/api/v1/namespaces"
)

// Other runs have ClusterSnapshotSchedules at the same time, which would protect this run's namespace, too.
func TestFleetsAndNamespacesAreConfinedToTheRunsName(t *testing.T) {
	for _, fleet := range []bool{false, true} {
		e := newEnvironment(t, Treatment{})
		e.proxy.Fleet = fleet
		for _, path := range []string{allFleets + "?limit=5", allNamespaces + "?limit=5", allFleets + "/here", allNamespaces + "/here"} {
			e.do(http.MethodGet, path, "")
		}
		want := []string{
			"GET " + allFleets + "?fieldSelector=metadata.name%3Dhere&limit=5", "GET " + allNamespaces + "?fieldSelector=metadata.name%3Dhere&limit=5",
			"GET " + allFleets + "/here", "GET " + allNamespaces + "/here",
		}
		if got := e.server.received(); !slices.Equal(got, want) {
			t.Errorf("the API server received %q, want %q", got, want)
		}
		points := []string{"get.namespaces.here.1"} // which is read for other reasons, too
		if fleet {
			points = []string{"list.clustersnapshotschedules.all.1", "list.namespaces.all.1", "get.clustersnapshotschedules.here.1", "get.namespaces.here.1"}
		}
		var got []string
		for _, p := range e.proxy.Trace() {
			got = append(got, p.String())
		}
		if !slices.Equal(got, points) {
			t.Errorf("with a fleet %t: the trace is %q, want %q", fleet, got, points)
		}
	}
}

func TestCachesHaveSyncedWithThoseOfAFleet(t *testing.T) {
	e := newEnvironment(t, Treatment{})
	e.proxy.Fleet = true
	for _, resource := range cached {
		if e.proxy.Quiet() > 0 {
			t.Errorf("synced before %s", resource)
		}
		e.endpoint.markSynced(resource)
	}
	if e.proxy.Quiet() == 0 {
		t.Error("not synced after all")
	}
}

// The operator reads metadata of namespaces, and no full objects would be decoded.
func TestThePastOfMetadataIsMetadata(t *testing.T) {
	const namespace = `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"here"},"status":{"phase":"Active"}}`
	if got, want := string(asMetadata([]byte(namespace))), `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"here"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	list := []byte(`{"kind":"NamespaceList","apiVersion":"v1","items":[{"metadata":{"name":"here"}}]}`)
	for _, metadata := range []bool{false, true} {
		events, err := initialEvents(list, 7, metadata)
		if err != nil || len(events) != 2 {
			t.Fatalf("%q, %v", events, err)
		}
		for _, event := range events {
			if strings.Contains(string(event), `"kind":"PartialObjectMetadata"`) != metadata || strings.Contains(string(event), `"kind":"Namespace"`) == metadata {
				t.Errorf("metadata %t: %s", metadata, event)
			}
		}
	}
}

// The operator lists one object of each kind before it fills the caches of a fleet.
func TestAProbeFillsNoCache(t *testing.T) {
	for _, resource := range fleets {
		for limit, want := range map[string]bool{"1": false, "500": resource == "namespaces"} {
			q := request{verb: "list", resource: resource, metadata: true, query: url.Values{"limit": {limit}}}
			if got := q.fillsCache(); got != want {
				t.Errorf("a list of metadata of %s with limit %s fills the cache: %t", resource, limit, got)
			}
		}
	}
}

func TestTheRunsNameIsTheSameInEveryRun(t *testing.T) {
	n := newNames(map[string]string{"faults-1-2": "run"})
	q := request{verb: "get", resource: "namespaces", name: "faults-1-2"}
	if got := n.request(q); got != (plan.Point{Verb: "get", Resource: "namespaces", Object: "run", Nth: 1}) {
		t.Errorf("got %s", got)
	}
}
