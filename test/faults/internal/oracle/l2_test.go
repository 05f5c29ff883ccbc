// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

func TestL2(t *testing.T) {
	// idle is an idle minute with steps in the middle.
	idle := func(steps func(*script)) func() *script {
		return given{ready("a", time.Hour)}.when(func(s *script) {
			s.guards("a")
			s.wait(time.Second)
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			s.wait(30 * time.Second)
			steps(s)
			s.wait(30 * time.Second)
			s.Ended = s.now
			s.guards("a") // the end of a window does not belong to it
		})
	}
	discover := func(s *script) {
		s.Requests = append(s.Requests, history.Request{At: s.now, Verb: "get", Name: "/apis/snapshot.storage.k8s.io/v1"})
	}
	judge(t, L2, []testCase{
		{"nothing happens", idle(func(*script) {}), ""},
		{"a watch is opened again", idle(func(s *script) { s.request("watch", "volumesnapshots", "") }), ""},
		{"a lease is renewed", idle(func(s *script) { s.request("update", "leases", "leader").Group = "coordination.k8s.io" }), ""},
		{"a list", idle(func(s *script) { s.request("list", "volumesnapshots", "") }), "list volumesnapshots"},
		{"a live read", idle(func(s *script) { s.get("volumesnapshots/a") }), "get volumesnapshots"},
		{"an event", idle(func(s *script) { s.request("create", "events", "x").Group = "events.k8s.io" }), "create events"},
		{"a write without effect", idle(func(s *script) { s.request("patch", "snapshotschedules/status", "every") }), "patch snapshotsch"},
		{"a change without a request", idle(func(s *script) { s.editClaim(func(*corev1.PersistentVolumeClaim) {}) }), "resourceVersion 4"},
		{"discovery of an existing kind", idle(discover), "/apis/snapshot"},
		{"discovery of a missing kind", given{}.when(func(s *script) {
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			discover(s)
			s.wait(time.Minute)
			s.Ended = s.now
		}), ""},
		{"too much discovery of a missing kind", given{}.when(func(s *script) {
			s.window(history.Idle, s.now, s.now.Add(time.Minute), "")
			for range 9 {
				s.wait(time.Second)
				discover(s)
			}
			s.wait(time.Minute)
			s.Ended = s.now
		}), "/apis/snapshot"},
	})
}
