// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// imported makes a snapshot one that was made from a content.
func imported(s *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshot {
	s.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
	return s
}

func TestS9(t *testing.T) {
	young, old := imported(newSnapshot("old", noon.Add(-time.Hour))), imported(newSnapshot("old", noon.Add(-11*day)))
	deletes := func(s *script) { s.guardedDelete("old", "new") }
	capped := func(s *script) {
		s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MaxCount = ptr.To(int32(1)) })
		s.wait(time.Minute)
		deletes(s)
	}
	judge(t, S9, []testCase{
		{"deletes one without a status", given{young, ready("new", 0)}.when(deletes), "which was imported"},
		{"deletes one without a status, of a PVC that is gone", given{young, ready("new", 0)}.when(func(s *script) {
			s.gone("persistentvolumeclaims/data")
			s.wait(time.Minute)
			deletes(s)
		}), "which was imported"},
		{"deletes one without a status, under a cap", given{young, ready("new", 0)}.when(capped), "which was imported"},
		{"deletes a ready one, under a cap", given{imported(ready("old", time.Hour)), ready("new", 0)}.when(capped), ""},
		{"deletes an expired one", given{old, ready("new", 0)}.when(deletes), ""},
		{"deletes an uncut one that was taken", given{newSnapshot("old", noon.Add(-time.Hour)), ready("new", 0)}.when(deletes), ""},
	})
}
