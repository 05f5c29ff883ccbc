// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

const (
	day       = 24 * time.Hour
	namespace = "shop"
)

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

// newSchedule is a schedule created a day ago, with interval 6h and TTL 10d.
func newSchedule(name string) *v1alpha1.SnapshotSchedule {
	return builders.Existing(builders.Schedule(namespace, name, v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h", SnapshotTTL: "10d", Retention: v1alpha1.Retention{MinReady: ptr.To(int32(1))},
	}), types.UID("schedule-"+name), noon.Add(-day))
}

// newClaim is a bound PVC created a day ago.
func newClaim(name string) *corev1.PersistentVolumeClaim {
	claim := builders.BoundClaim(namespace, name, "", map[string]string{"app": "shop"})
	return builders.Existing(claim, types.UID("claim-"+name), noon.Add(-day))
}

// newSnapshot is an uncut snapshot of PVC data by schedule every, for the slot at its creation.
func newSnapshot(name string, created time.Time) *snapshotv1.VolumeSnapshot {
	v := builders.Snapshot(newSchedule("every"), newClaim("data"), created)
	v.Name = name
	return builders.Existing(v, types.UID("snapshot-"+name), created)
}

// ready is a snapshot that was cut and ready as soon as it was created.
func ready(name string, age time.Duration) *snapshotv1.VolumeSnapshot {
	s := newSnapshot(name, noon.Add(-age))
	cut(s, s.CreationTimestamp.Time)
	s.Status.ReadyToUse = ptr.To(true)
	return s
}

func cut(s *snapshotv1.VolumeSnapshot, at time.Time) {
	if s.Status == nil {
		s.Status = &snapshotv1.VolumeSnapshotStatus{}
	}
	s.Status.CreationTime = &metav1.Time{Time: at}
}

// imported is a snapshot that was made from a content.
func imported(s *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshot {
	s.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
	return s
}

// restoreOf is a Pending PVC that is being restored from a snapshot.
func restoreOf(s *snapshotv1.VolumeSnapshot, name string) *corev1.PersistentVolumeClaim {
	claim := newClaim(name)
	claim.Status.Phase = corev1.ClaimPending
	claim.Labels = nil
	claim.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: s.Name}
	return claim
}
