// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "testing"

func TestS5(t *testing.T) {
	remove := func(uid, version string) func() *script {
		return expired().when(func(s *script) {
			r := s.request("delete", "volumesnapshots", "old")
			r.UID, r.ResourceVersion = uid, version
		})
	}
	judge(t, S5, []testCase{
		{"with both", remove("snapshot-old", "3"), ""},
		{"without a UID", remove("", "3"), "UID precondition"},
		{"without a resourceVersion", remove("snapshot-old", ""), "resourceVersion precondition"},
		{"without any, and refused", func() *script {
			s := remove("", "")()
			s.Requests[0].Code = 409
			return s
		}, "UID precondition"},
		{"of a collection", expired().when(func(s *script) { s.request("deletecollection", "volumesnapshots", "") }), "without preconditions"},
		{"no delete at all", expired().when(func(s *script) { s.guards("new") }), ""},
	})
}
