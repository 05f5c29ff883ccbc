// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// uid returns the same UID for the same words.
func uid(words ...any) types.UID {
	h := sha256.Sum256([]byte(fmt.Sprintln(words...)))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]))
}

func managed(manager, subresource, fields string, at time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
		APIVersion: "v1", Time: ptr.To(metav1.NewTime(at.Truncate(time.Second))),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// driver is the provisioner of all PVCs.
const driver = "csi.example.com"

// snapshotClass is the driver's default class, without which its PVCs cannot be snapshotted.
func snapshotClass() *snapshotv1.VolumeSnapshotClass {
	return &snapshotv1.VolumeSnapshotClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: "fast", Annotations: map[string]string{"snapshot.storage.kubernetes.io/is-default-class": "true"},
		},
		Driver: driver, DeletionPolicy: snapshotv1.VolumeSnapshotContentDelete,
	}
}

// boundClaim is a bound PVC with the labels, annotations and managed fields of real ones.
func boundClaim(namespace, name string, created time.Time) *corev1.PersistentVolumeClaim {
	id := uid("pvc", namespace, name)
	c := builders.Existing(builders.BoundClaim(namespace, name, "pvc-"+string(id), map[string]string{
		"app.kubernetes.io/name": "database", "app.kubernetes.io/instance": name,
	}), id, created)
	c.Spec.StorageClassName = ptr.To("fast")
	c.Annotations["pv.kubernetes.io/bound-by-controller"] = "yes"
	c.Annotations["volume.kubernetes.io/storage-provisioner"] = driver
	c.Annotations["volume.beta.kubernetes.io/storage-provisioner"] = driver
	c.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("kube-controller-manager", "", `{"f:metadata":{"f:annotations":{".":{},"f:pv.kubernetes.io/bind-completed":{},`+
			`"f:pv.kubernetes.io/bound-by-controller":{},"f:volume.kubernetes.io/storage-provisioner":{}}},"f:spec":{"f:volumeName":{}}}`, created),
		managed("kube-controller-manager", "status", `{"f:status":{"f:accessModes":{},"f:capacity":{".":{},"f:storage":{}},"f:phase":{}}}`, created),
		managed("kubectl-client-side-apply", "", `{"f:spec":{"f:accessModes":{},"f:resources":{"f:requests":{".":{},"f:storage":{}}},"f:volumeMode":{}}}`, created),
	}
	return c
}

// old gives a schedule what the API server sets, so that it can be written into etcd.
func old(s *v1alpha1.SnapshotSchedule, created time.Time) *v1alpha1.SnapshotSchedule {
	return builders.Existing(s, uid("schedule", s.Namespace, s.Name), created)
}

// readySnapshot is a ready snapshot of a claim with everything that the operator and the snapshot
// controllers set.
func readySnapshot(owner *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	s := builders.Snapshot(owner, claim, slot)
	s = builders.Existing(s, uid("snapshot", s.Namespace, s.Name), slot)
	s.Finalizers = []string{
		"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
	}
	s.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("snapshotschedule", "", `{"f:metadata":{"f:annotations":{".":{},"f:snapshots.mapcontroller.dev/scheduled-at":{}},`+
			`"f:labels":{".":{},"f:snapshots.mapcontroller.dev/map-key":{},"f:snapshots.mapcontroller.dev/persistentvolumeclaim":{},`+
			`"f:snapshots.mapcontroller.dev/schedule":{}},`+
			`"f:ownerReferences":{".":{},"k:{\"uid\":\"`+string(owner.UID)+`\"}":{}}},`+
			`"f:spec":{".":{},"f:source":{".":{},"f:persistentVolumeClaimName":{}}}}`, slot),
		managed("snapshot-controller", "", `{"f:metadata":{"f:finalizers":{".":{},`+
			`"v:\"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection\"":{},`+
			`"v:\"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection\"":{}}},"f:spec":{"f:volumeSnapshotClassName":{}}}`, slot),
		managed("snapshot-controller", "status", `{"f:status":{".":{},"f:boundVolumeSnapshotContentName":{},"f:creationTime":{},`+
			`"f:readyToUse":{},"f:restoreSize":{}}}`, slot),
	}
	s.Spec.VolumeSnapshotClassName = ptr.To("fast")
	s.Status = &snapshotv1.VolumeSnapshotStatus{
		BoundVolumeSnapshotContentName: ptr.To("snapcontent-" + string(s.UID)),
		CreationTime:                   ptr.To(metav1.NewTime(slot.Truncate(time.Second))),
		ReadyToUse:                     ptr.To(true),
		RestoreSize:                    ptr.To(resource.MustParse("10Gi")),
	}
	return s
}
