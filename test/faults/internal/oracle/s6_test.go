// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestS6(t *testing.T) {
	with := func(r history.Request) func() *script {
		return given{}.when(func(s *script) { s.Requests = append(s.Requests, r) })
	}
	const snapshots, schedules, outside = "snapshot.storage.k8s.io", "snapshots.mapcontroller.dev", "outside the shipped roles"
	judge(t, S6, []testCase{
		{"creates a snapshot", with(history.Request{Verb: "create", Group: snapshots, Resource: "volumesnapshots"}), ""},
		{"writes a status", with(history.Request{Verb: "patch", Group: schedules, Resource: "snapshotschedules/status"}), ""},
		{"sends an event", with(history.Request{Verb: "create", Group: "events.k8s.io", Resource: "events"}), ""},
		{"renews its lease", with(history.Request{Verb: "update", Group: "coordination.k8s.io", Resource: "leases"}), ""},
		{"reviews a token", with(history.Request{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"}), ""},
		{"discovers kinds", with(history.Request{Verb: "get", Name: "/apis/snapshot.storage.k8s.io/v1"}), ""},
		{"discovers groups", with(history.Request{Verb: "get", Name: "/apis"}), ""},
		{"updates a snapshot", with(history.Request{Verb: "update", Group: snapshots, Resource: "volumesnapshots"}), outside},
		{"updates a status", with(history.Request{Verb: "update", Group: schedules, Resource: "snapshotschedules/status"}), outside},
		{"deletes a PVC", with(history.Request{Verb: "delete", Resource: "persistentvolumeclaims"}), outside},
		{"reads a snapshot of another group", with(history.Request{Verb: "get", Group: "example.com", Resource: "volumesnapshots"}), outside},
		{"reads secrets", with(history.Request{Verb: "get", Resource: "secrets"}), outside},
		{"gets a path that is not discovery", with(history.Request{Verb: "get", Name: "/metrics"}), outside},
		{"posts to a path", with(history.Request{Verb: "post", Name: "/apis"}), outside},
		{"is refused", with(history.Request{
			Verb: "create", Group: snapshots, Resource: "volumesnapshots", Code: 403, Forbidden: true,
		}), "for lack of a role"},
		{"is refused by a quota", with(history.Request{Verb: "create", Group: snapshots, Resource: "volumesnapshots", Code: 403}), ""},
	})
}
