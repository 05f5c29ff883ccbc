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
	judge(t, S3, []story{
		{"leaves one", func() *script {
			s := expired()
			s.guards("new")
			s.deletes("old")
			return s
		}, ""},
		{"leaves none", func() *script {
			s := begin(ready("only", 20*day))
			s.guards()
			s.deletes("only")
			return s
		}, "0 ready ones are left"},
		{"leaves one that is not ready", func() *script {
			s := expired()
			s.editSnapshot("new", unready)
			s.wait(10 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, "0 ready ones are left"},
		{"leaves one that lost its readiness after the reads", func() *script {
			s := expired()
			s.guards("new")
			s.wait(time.Second)
			s.editSnapshot("new", unready)
			s.wait(time.Second)
			s.deletes("old")
			return s
		}, ""},
		{"leaves none, for a user deleted one after the reads", func() *script {
			s := expired()
			s.guards("new")
			s.wait(time.Second)
			s.gone("volumesnapshots/new")
			s.deletes("old")
			return s
		}, ""},
		{"leaves none, for a user deleted one long before", func() *script {
			s := expired()
			s.gone("volumesnapshots/new")
			s.wait(10 * time.Second)
			s.guards()
			s.deletes("old")
			return s
		}, "0 ready ones are left"},
		{"two managers delete one each", func() *script {
			s := expired()
			s.guards("new")
			s.deletes("old")
			s.process = 1
			s.wait(time.Second)
			s.deletes("new")
			return s
		}, "0 ready ones are left"},
		{"leaves one of a floor of two", func() *script {
			s := begin(ready("a", 13*day), ready("b", 12*day))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(2)) })
			s.wait(10 * time.Second)
			s.guards("b")
			s.deletes("a")
			return s
		}, "1 ready ones are left of the PVC's series, and minReady is 2"},
		{"leaves one of a floor that was raised after the reads", func() *script {
			s := begin(ready("a", 13*day), ready("b", 12*day))
			s.guards("b")
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(2)) })
			s.deletes("a")
			return s
		}, ""},
		{"leaves none of a PVC that is gone", func() *script {
			s := begin(ready("only", 20*day))
			s.gone("persistentvolumeclaims/data")
			s.guards()
			s.deletes("only")
			return s
		}, ""},
		{"leaves none with a floor of zero", func() *script {
			s := begin(ready("only", 20*day))
			s.editSchedule(func(o *v1alpha1.SnapshotSchedule) { o.Spec.Retention.MinReady = ptr.To(int32(0)) })
			s.wait(10 * time.Second)
			s.guards()
			s.deletes("only")
			return s
		}, ""},
		{"counts on one that another controls", func() *script {
			s := begin(ready("only", 20*day), foreign("other"))
			s.guards()
			s.deletes("only")
			return s
		}, "0 ready ones are left"},
		{"counts on one that is being deleted", func() *script {
			s := expired()
			s.editSnapshot("new", func(o *snapshotv1.VolumeSnapshot) { o.DeletionTimestamp = &o.CreationTimestamp })
			s.wait(10 * time.Second)
			s.guards("new")
			s.deletes("old")
			return s
		}, "0 ready ones are left"},
		{"deletes one that is not ready, and has no ready one", func() *script {
			s := begin(newSnapshot("stuck", noon.Add(-7*time.Hour)))
			s.guards()
			s.deletes("stuck")
			return s
		}, ""},
	})
}
