/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
