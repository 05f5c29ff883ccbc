// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// noon is now, in all tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const driver = "mock.csi"

func at(hour, minute int) time.Time { return time.Date(2026, 11, 21, hour, minute, 0, 0, time.UTC) }

// snapshot is a ready snapshot of a PVC, created and cut at a time.
func snapshot(claim, key string, created time.Time, changes ...func(*snapshotv1.VolumeSnapshot)) *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: claim + created.Format("-1504"), UID: types.UID("uid-" + claim + created.Format("-1504")),
		CreationTimestamp: metav1.NewTime(created),
		Labels:            map[string]string{v1alpha1.LabelMapKey: key, v1alpha1.LabelSchedule: "nightly"},
		Annotations:       map[string]string{v1alpha1.AnnotationScheduledAt: created.Format(time.RFC3339)},
	}}
	v.Spec.Source.PersistentVolumeClaimName = &claim
	v.Status = &snapshotv1.VolumeSnapshotStatus{
		ReadyToUse: ptr.To(true), CreationTime: ptr.To(metav1.NewTime(created)),
		RestoreSize:                    ptr.To(resource.MustParse("2Gi")),
		BoundVolumeSnapshotContentName: ptr.To("content"),
	}
	for _, change := range changes {
		change(v)
	}
	return v
}

func unready(v *snapshotv1.VolumeSnapshot) { v.Status.ReadyToUse = ptr.To(false) }

func cutAt(t time.Time) func(*snapshotv1.VolumeSnapshot) {
	return func(v *snapshotv1.VolumeSnapshot) { v.Status.CreationTime = ptr.To(metav1.NewTime(t)) }
}

// fromContent makes a snapshot an imported one, of data of an earlier time.
func fromContent(slot time.Time) func(*snapshotv1.VolumeSnapshot) {
	return func(v *snapshotv1.VolumeSnapshot) {
		v.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: ptr.To("content")}
		v.Annotations[v1alpha1.AnnotationScheduledAt] = slot.Format(time.RFC3339)
	}
}

func claim(name, uid string, created time.Time) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(created),
		Labels: map[string]string{"app": "db"},
	}}
	c.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		StorageClassName: ptr.To("fast"),
		VolumeMode:       ptr.To(corev1.PersistentVolumeBlock),
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	c.Status.Phase = corev1.ClaimBound
	return c
}

func content(v *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshotContent {
	c := &snapshotv1.VolumeSnapshotContent{ObjectMeta: metav1.ObjectMeta{Name: "content"}}
	c.Spec.Driver = driver
	c.Spec.VolumeSnapshotRef.UID = v.UID
	c.Spec.SourceVolumeMode = ptr.To(corev1.PersistentVolumeBlock)
	return c
}

func storageClass(name, provisioner string) storagev1.StorageClass {
	return storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
}

func isDefault(c storagev1.StorageClass) storagev1.StorageClass {
	c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	return c
}
