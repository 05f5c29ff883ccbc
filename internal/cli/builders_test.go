// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// start is when the schedules and PVCs of these tests were created.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// anyClass stands for VolumeSnapshotClasses that the user may not read.
var anyClass snapshots.Classes

func testSchedule(name string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	return &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(start),
		},
		Spec: spec,
	}
}

func testClaim(name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(start), Labels: labels,
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

// testSnapshot is a ready snapshot that was taken at its slot.
func testSnapshot(s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name + "-" + slot.Format("20060102150405"), UID: types.UID(c.Name + slot.String()),
			CreationTimestamp: metav1.NewTime(slot),
			Labels:            map[string]string{v1alpha1.LabelMapKey: string(c.UID), v1alpha1.LabelSchedule: s.Name},
			Annotations:       map[string]string{v1alpha1.AnnotationScheduledAt: slot.Format(time.RFC3339)},
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))},
		},
		Spec:   snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To(c.Name)}},
		Status: readyStatus(metav1.NewTime(slot)),
	}
}
