// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package builders makes the objects that tests create: PVCs, schedules, and the snapshots that a
// schedule takes.
package builders

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Existing gives an object the metadata that the API server set when it was created.
func Existing[T client.Object](o T, uid types.UID, created time.Time) T {
	o.SetUID(uid)
	o.SetGeneration(1)
	o.SetCreationTimestamp(metav1.NewTime(created.Truncate(time.Second)))
	return o
}

// Claim is a PVC as a user creates it.
func Claim(namespace, name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return c
}

// BoundClaim is a PVC that the API server's defaults and the binder have completed.
func BoundClaim(namespace, name, volume string, labels map[string]string) *corev1.PersistentVolumeClaim {
	c := Claim(namespace, name, labels)
	c.Finalizers = []string{"kubernetes.io/pvc-protection"}
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	c.Spec.VolumeName, c.Spec.StorageClassName = volume, ptr.To("")
	c.Spec.VolumeMode = ptr.To(corev1.PersistentVolumeFilesystem)
	c.Status = corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: c.Spec.AccessModes, Capacity: c.Spec.Resources.Requests,
	}
	return c
}

// Schedule is a SnapshotSchedule as a user creates it.
func Schedule(namespace, name string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	return &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
}

// SnapshotName is the name that the operator gives to a snapshot. A test that writes snapshots of
// the past needs the same names: they keep an operator with an outdated view from taking a slot
// twice.
func SnapshotName(schedule types.UID, c *corev1.PersistentVolumeClaim, slot time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", schedule, c.UID, slot.Unix()))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:10]
	return c.Name + "-" + slot.UTC().Format("20060102150405") + "-" + hash
}

// Snapshot is what the operator sends to take a snapshot.
func Snapshot(s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	annotations := map[string]string{v1alpha1.AnnotationScheduledAt: slot.UTC().Format(time.RFC3339)}
	if c.Spec.VolumeName != "" {
		annotations[v1alpha1.AnnotationVolume] = c.Spec.VolumeName
	}
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       c.Namespace,
			Name:            SnapshotName(s.UID, c, slot),
			Labels:          map[string]string{v1alpha1.LabelMapKey: string(c.UID), v1alpha1.LabelSchedule: s.Name, v1alpha1.LabelClaim: c.Name},
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))},
		},
		Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To(c.Name)}},
	}
}
