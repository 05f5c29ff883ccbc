// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

func TestPointsAreNamedByWhatTheyAreFor(t *testing.T) {
	n := newNames(map[string]string{"data-0-20250101000000-aaaaaaaaaa": "data-0-old-0"})
	for _, c := range []struct {
		method, path, accept, body string
		want                       plan.Point
	}{
		{"POST", snapshots, "", `{"metadata":{"name":"data-0-20260101000000-bbbbbbbbbb"}}`, plan.Point{Verb: "create", Resource: "volumesnapshots", Object: "data-0+1", Nth: 1}},
		{"POST", snapshots, "", `{"metadata":{"name":"data-0-20260101000000-bbbbbbbbbb"}}`, plan.Point{Verb: "create", Resource: "volumesnapshots", Object: "data-0+1", Nth: 2}},
		{"POST", snapshots, "", `{"metadata":{"name":"data-0-20260102000000-cccccccccc"}}`, plan.Point{Verb: "create", Resource: "volumesnapshots", Object: "data-0+2", Nth: 1}},
		{"DELETE", snapshots + "/data-0-20250101000000-aaaaaaaaaa", "", "", plan.Point{Verb: "delete", Resource: "volumesnapshots", Object: "data-0-old-0", Nth: 1}},
		{"PATCH", "/apis/snapshots.mapcontroller.dev/v1alpha1/namespaces/here/snapshotschedules/nightly/status", "", "{}", plan.Point{Verb: "patch", Resource: "snapshotschedules/status", Object: "nightly", Nth: 1}},
		{"GET", base + "/volumesnapshots?watch=true&sendInitialEvents=true", "", "", plan.Point{Verb: "list", Resource: "volumesnapshots", Object: "all", Nth: 1}},
		{"GET", base + "/volumesnapshots?watch=true", "", "", plan.Point{Verb: "watch", Resource: "volumesnapshots", Object: "all", Nth: 1}},
		{"GET", base + "/volumesnapshots", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "", plan.Point{Verb: "live-list", Resource: "volumesnapshots", Object: "all", Nth: 1}},
		{"GET", "/api/v1/namespaces/here", "", "", plan.Point{Verb: "get", Resource: "namespaces", Object: "here", Nth: 1}},
		{"GET", "/apis/snapshot.storage.k8s.io/v1", "", "", plan.Point{Verb: "get", Resource: plan.Path, Object: "/apis/snapshot.storage.k8s.io/v1", Nth: 1}},
		{"POST", "/apis/events.k8s.io/v1/namespaces/here/events", "", `{"metadata":{"name":"nightly.18a3f"},"reason":"CreateFailed"}`, plan.Point{Verb: "create", Resource: "events", Object: "CreateFailed", Nth: 1}},
	} {
		req := httptest.NewRequest(c.method, c.path, http.NoBody)
		req.Header.Set("Accept", c.accept)
		if got := n.request(parse(req, []byte(c.body))); got != c.want {
			t.Errorf("%s %s is %s, not %s", c.method, c.path, got, c.want)
		}
	}
}

func TestSatisfies(t *testing.T) {
	for _, c := range []struct {
		object, patch string
		want          bool
	}{
		{`{"status":{"a":1,"b":2}}`, `{"status":{"a":1}}`, true},
		{`{"status":{"a":1}}`, `{"status":{"a":2}}`, false},
		{`{"status":{"a":1}}`, `{"status":{"b":null}}`, true},
		{`{"status":{"b":1}}`, `{"status":{"b":null}}`, false},
		{`{"metadata":{"resourceVersion":"1","name":"x"}}`, `{"metadata":{"resourceVersion":"7","name":"x"}}`, true},
		{`{}`, `{"status":{"a":1}}`, false},
		{`{"l":[1,2]}`, `{"l":[1]}`, false},
		{``, `{}`, false},
	} {
		if got := satisfies([]byte(c.object), []byte(c.patch)); got != c.want {
			t.Errorf("%s satisfies %s: %t", c.object, c.patch, got)
		}
	}
}
