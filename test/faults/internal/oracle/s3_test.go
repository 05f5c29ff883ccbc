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

func unready(s *snapshotv1.VolumeSnapshot) { s.Status.ReadyToUse = ptr.To(false) }

func TestS3(t *testing.T) {
	judge(t, S3, []testCase{
		{"leaves one", expired().when(func(s *script) { s.guardedDelete("old", "new") }), ""},
		{"leaves none", given{ready("only", 20*day)}.when(func(s *script) { s.guardedDelete("only") }), "0 ready ones are left"},
		{"leaves one that is not ready", expired().when(func(s *script) {
			s.editSnapshot("new", unready)
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), "0 ready ones are left"},
		{"leaves one that lost its readiness after the reads", expired().when(func(s *script) {
			s.guards("new")
			s.wait(time.Second)
			s.editSnapshot("new", unready)
			s.wait(time.Second)
			s.deletes("old")
		}), ""},
		{"leaves none, for a user deleted one after the reads", expired().when(func(s *script) {
			s.guards("new")
			s.wait(time.Second)
			s.gone("volumesnapshots/new")
			s.deletes("old")
		}), ""},
		{"leaves none, for a user deleted one long before", expired().when(func(s *script) {
			s.gone("volumesnapshots/new")
			s.wait(10 * time.Second)
			s.guardedDelete("old")
		}), "0 ready ones are left"},
		{"two managers delete one each", expired().when(func(s *script) {
			s.guardedDelete("old", "new")
			s.process = 1
			s.wait(time.Second)
			s.deletes("new")
		}), "0 ready ones are left"},
		{"leaves one of a floor of two", given{ready("a", 13*day), ready("b", 12*day)}.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(2)) })
			s.wait(10 * time.Second)
			s.guardedDelete("a", "b")
		}), "1 ready ones are left of the PVC's series, and minReady is 2"},
		{"leaves one of a floor that was raised after the reads", given{ready("a", 13*day), ready("b", 12*day)}.when(func(s *script) {
			s.guards("b")
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(2)) })
			s.deletes("a")
		}), ""},
		{"leaves none of a PVC that is gone", given{ready("only", 20*day)}.when(func(s *script) {
			s.gone("persistentvolumeclaims/data")
			s.guardedDelete("only")
		}), ""},
		{"leaves none with a floor of zero", given{ready("only", 20*day)}.when(func(s *script) {
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(0)) })
			s.wait(10 * time.Second)
			s.guardedDelete("only")
		}), ""},
		{"counts on one that another controls", given{ready("only", 20*day), foreign("other")}.when(func(s *script) {
			s.guardedDelete("only")
		}), "0 ready ones are left"},
		{"counts on one that is being deleted", expired().when(func(s *script) {
			s.editSnapshot("new", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = &o.CreationTimestamp })
			s.wait(10 * time.Second)
			s.guardedDelete("old", "new")
		}), "0 ready ones are left"},
		{"deletes one that is not ready, and has no ready one", given{newSnapshot("stuck", noon.Add(-7*time.Hour))}.when(func(s *script) {
			s.guardedDelete("stuck")
		}), ""},
	})
}
