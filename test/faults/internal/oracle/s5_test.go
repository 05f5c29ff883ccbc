// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import "testing"

func TestS5(t *testing.T) {
	remove := func(uid, version string) func() *script {
		return func() *script {
			s := expired()
			r := s.request("delete", "volumesnapshots", "old")
			r.UID, r.ResourceVersion = uid, version
			return s
		}
	}
	judge(t, S5, []story{
		{"with both", remove("snapshot-old", "3"), ""},
		{"without a UID", remove("", "3"), "UID precondition"},
		{"without a resourceVersion", remove("snapshot-old", ""), "resourceVersion precondition"},
		{"without any, and refused", func() *script {
			s := remove("", "")()
			s.Requests[0].Code = 409
			return s
		}, "UID precondition"},
		{"of a collection", func() *script {
			s := expired()
			s.request("deletecollection", "volumesnapshots", "")
			return s
		}, "which objects"},
		{"no delete at all", func() *script {
			s := expired()
			s.guards("new")
			return s
		}, ""},
	})
}
