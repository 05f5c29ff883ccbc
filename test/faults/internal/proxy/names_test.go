// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestPointsHaveLogicalNames(t *testing.T) {
	n := newNames(map[string]string{"data-0-20250101000000-aaaaaaaaaa": "data-0-old-0"})
	const (
		first    = `{"metadata":{"name":"data-0-20260101000000-bbbbbbbbbb"}}`
		second   = `{"metadata":{"name":"data-0-20260102000000-cccccccccc"}}`
		status   = "/apis/snapshots.mapcontroller.dev/v1alpha1/namespaces/here/snapshotschedules/nightly/status"
		metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	)
	for _, c := range []struct {
		method, path, accept, body, want string
	}{
		{"POST", snapshots, "", first, "create.volumesnapshots.data-0+1.1"},
		{"POST", snapshots, "", first, "create.volumesnapshots.data-0+1.2"},
		{"POST", snapshots, "", second, "create.volumesnapshots.data-0+2.1"},
		{"DELETE", snapshots + "/data-0-20250101000000-aaaaaaaaaa", "", "", "delete.volumesnapshots.data-0-old-0.1"},
		{"PATCH", status, "", "{}", "patch.snapshotschedules/status.nightly.1"},
		{"GET", base + "/volumesnapshots?watch=true&sendInitialEvents=true", "", "", "list.volumesnapshots.all.1"},
		{"GET", base + "/volumesnapshots?watch=true", "", "", "watch.volumesnapshots.all.1"},
		{"GET", base + "/volumesnapshots", metadata, "", "live-list.volumesnapshots.all.1"},
		{"GET", "/api/v1/namespaces/here", "", "", "get.namespaces.here.1"},
		{"GET", "/apis/snapshot.storage.k8s.io/v1", "", "", "get.path./apis/snapshot.storage.k8s.io/v1.1"},
		{"POST", "/apis/events.k8s.io/v1/namespaces/here/events", "",
			`{"metadata":{"name":"nightly.18a3f"},"reason":"CreateFailed"}`, "create.events.CreateFailed.1"},
	} {
		req := httptest.NewRequest(c.method, c.path, http.NoBody)
		req.Header.Set("Accept", c.accept)
		if got := n.request(parse(req, []byte(c.body))); got.String() != c.want {
			t.Errorf("%s %s is %s, want %s", c.method, c.path, got, c.want)
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
