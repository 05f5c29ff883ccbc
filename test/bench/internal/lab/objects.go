// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// uid is always the same for the same words.
func uid(words ...any) types.UID {
	h := sha256.Sum256([]byte(fmt.Sprintln(words...)))
	return types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]))
}

// meta is the metadata of an object that a while ago was created by others.
func meta(kind, namespace, name string, created time.Time) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: uid(kind, namespace, name), Generation: 1,
		CreationTimestamp: metav1.NewTime(created.Truncate(time.Second)),
	}
}

func managed(manager, subresource, fields string, at time.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: subresource,
		APIVersion: "v1", Time: ptr.To(metav1.NewTime(at.Truncate(time.Second))),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// Claim is a bound PVC, with what a provisioner and the binder leave on one.
func Claim(namespace, name string, created time.Time) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: meta("pvc", namespace, name, created),
	}
	c.Labels = map[string]string{"app.kubernetes.io/name": "database", "app.kubernetes.io/instance": name}
	c.Annotations = map[string]string{
		"pv.kubernetes.io/bind-completed":               "yes",
		"pv.kubernetes.io/bound-by-controller":          "yes",
		"volume.kubernetes.io/storage-provisioner":      "csi.example.com",
		"volume.beta.kubernetes.io/storage-provisioner": "csi.example.com",
	}
	c.Finalizers = []string{"kubernetes.io/pvc-protection"}
	c.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("kube-controller-manager", "", `{"f:metadata":{"f:annotations":{".":{},"f:pv.kubernetes.io/bind-completed":{},`+
			`"f:pv.kubernetes.io/bound-by-controller":{},"f:volume.kubernetes.io/storage-provisioner":{}}},"f:spec":{"f:volumeName":{}}}`, created),
		managed("kube-controller-manager", "status", `{"f:status":{"f:accessModes":{},"f:capacity":{".":{},"f:storage":{}},"f:phase":{}}}`, created),
		managed("kubectl-client-side-apply", "", `{"f:spec":{"f:accessModes":{},"f:resources":{"f:requests":{".":{},"f:storage":{}}},"f:volumeMode":{}}}`, created),
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: modes, VolumeName: "pvc-" + string(c.UID), StorageClassName: ptr.To("fast"),
		VolumeMode: ptr.To(corev1.PersistentVolumeFilesystem), Resources: corev1.VolumeResourceRequirements{Requests: size},
	}
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: modes, Capacity: size}
	return c
}

// Schedule is a schedule with its defaults. Whether it is put into etcd or created is up to the
// caller; created, its UID and time are the API server's.
func Schedule(namespace, name string, created time.Time, spec v1alpha1.SnapshotScheduleSpec) *v1alpha1.SnapshotSchedule {
	return &v1alpha1.SnapshotSchedule{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule"},
		ObjectMeta: meta("schedule", namespace, name, created),
		Spec:       spec,
	}
}

// snapshotName has the length and the parts of a name that the operator gives.
func snapshotName(claim string, owner types.UID, slot time.Time) string {
	hash := strings.ReplaceAll(string(uid(claim, owner, slot.Unix())), "-", "")[:10]
	return fmt.Sprintf("%s-%s-%s", claim, slot.UTC().Format("20060102150405"), hash)
}

// NewSnapshot is what the operator sends to create a snapshot, but for the hash in its name.
func NewSnapshot(owner *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	return &snapshotv1.VolumeSnapshot{
		TypeMeta: metav1.TypeMeta{APIVersion: snapshotv1.SchemeGroupVersion.String(), Kind: "VolumeSnapshot"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: claim.Namespace,
			Name:      snapshotName(claim.Name, owner.UID, slot),
			Labels: map[string]string{
				v1alpha1.LabelMapKey:   string(claim.UID),
				v1alpha1.LabelSchedule: owner.Name,
			},
			Annotations: map[string]string{v1alpha1.AnnotationScheduledAt: slot.UTC().Format(time.RFC3339)},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("SnapshotSchedule")),
			},
		},
		Spec: snapshotv1.VolumeSnapshotSpec{Source: snapshotv1.VolumeSnapshotSource{
			PersistentVolumeClaimName: ptr.To(claim.Name),
		}},
	}
}

// Snapshot is a ready snapshot of a claim, with all that the operator and the snapshot
// controllers leave on one.
func Snapshot(owner *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, slot time.Time) *snapshotv1.VolumeSnapshot {
	s := NewSnapshot(owner, claim, slot)
	full := meta("snapshot", s.Namespace, s.Name, slot)
	s.UID, s.Generation, s.CreationTimestamp = full.UID, full.Generation, full.CreationTimestamp
	s.Finalizers = []string{
		"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
	}
	s.ManagedFields = []metav1.ManagedFieldsEntry{
		managed("snapshotschedule", "", `{"f:metadata":{"f:annotations":{".":{},"f:snapshots.mapcontroller.dev/scheduled-at":{}},`+
			`"f:labels":{".":{},"f:snapshots.mapcontroller.dev/map-key":{},"f:snapshots.mapcontroller.dev/schedule":{}},`+
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
