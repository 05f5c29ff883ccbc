// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clitest is what the tests of the plugin share: objects, a namespace with all that can be shown, and an operator to compare with.
package clitest

import (
	"encoding/json"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Start is when the schedules and PVCs of these tests were created.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// AnyClass stands for VolumeSnapshotClasses that the user may not read.
var AnyClass snapshots.Classes

// Schedule returns a schedule of the namespace shop.
func Schedule(name string, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	return &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(Start),
		},
		Spec: spec,
	}
}

// Claim returns a bound PVC of the namespace shop.
func Claim(name string, labels map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(Start), Labels: labels,
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
}

// Snapshot is a ready snapshot that was taken at its slot.
func Snapshot(s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.Name + "-" + slot.Format("20060102150405"), UID: types.UID(c.Name + slot.String()),
			CreationTimestamp: metav1.NewTime(slot),
			Labels:            map[string]string{v1alpha1.LabelMapKey: string(c.UID), v1alpha1.LabelSchedule: s.Name},
			Annotations:       map[string]string{v1alpha1.AnnotationScheduledAt: slot.Format(time.RFC3339)},
			OwnerReferences:   []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))},
		},
		Spec:   snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{PersistentVolumeClaimName: ptr.To(c.Name)}},
		Status: view.ReadyStatus(metav1.NewTime(slot)),
	}
}

// Group is a ready group snapshot of PVCs that was taken at its slot, and its members.
func Group(
	t *testing.T, s *v1alpha1.SnapshotSchedule, name string, slot time.Time, of ...*corev1.PersistentVolumeClaim,
) (v *groupv1.VolumeGroupSnapshot, members []client.Object) {
	t.Helper()
	judge, err := snapshots.NewJudge(term.Scheme, s, AnyClass)
	if err != nil {
		t.Fatal(err)
	}
	record := map[string]types.UID{}
	for _, c := range of {
		record[c.Name] = c.UID
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	v = &groupv1.VolumeGroupSnapshot{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: name,
		Labels:          map[string]string{v1alpha1.LabelMapKey: judge.Key(of[0]), v1alpha1.LabelSchedule: s.Name},
		Annotations:     map[string]string{v1alpha1.AnnotationScheduledAt: slot.Format(time.RFC3339), v1alpha1.AnnotationClaims: string(text)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))},
	}}
	return v, snapshots.Complete(v, metav1.NewTime(slot))
}

// GoldIn is a schedule gold with the label backup=gold in a namespace, and a PVC that it selects.
func GoldIn(namespace string) (*v1alpha1.SnapshotSchedule, client.Object) {
	s, claim := Schedule("gold", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), Claim("db-0", nil)
	s.Namespace, claim.Namespace, s.Labels = namespace, namespace, map[string]string{"backup": "gold"}
	return s, claim
}
