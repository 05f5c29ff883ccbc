// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// VolumeText returns the annotation with the volume of a snapshot, or the volumes of a group snapshot. The cache keeps that of a
// snapshot among its labels, which the snapshots of a series share.
func VolumeText(o client.Object) string {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationVolume]
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); isGroup {
		if len(text) > 2*MaxRecord {
			return ""
		}
		return text
	}
	if !ok {
		text = o.GetLabels()[v1alpha1.AnnotationVolume]
	}
	if len(text) > validation.DNS1123SubdomainMaxLength {
		return ""
	}
	return text
}

// VolumesOf returns of which volumes of its PVCs a group snapshot was taken, by the names of the PVCs.
func VolumesOf(v *groupv1.VolumeGroupSnapshot) (volumes map[string]string) {
	text := VolumeText(v)
	if text == "" || json.Unmarshal([]byte(text), &volumes) != nil {
		return nil
	}
	return volumes
}

// IsOfVolume returns whether a snapshot, or a group snapshot, of a PVC is of the volume that the PVC has now, if it says of which one
// it is. A rollback carries over those of an earlier one. What does not say so is of an earlier one if it is older than the PVC.
func IsOfVolume(o client.Object, claim *corev1.PersistentVolumeClaim, volume string) bool {
	if volume != "" {
		return volume == claim.Spec.VolumeName
	}
	created := o.GetCreationTimestamp()
	return !created.Before(&claim.CreationTimestamp)
}

// SizeText returns the size that a volume made of a snapshot needs; empty if the driver does not say.
func SizeText(o client.Object) string {
	if size := SizeOf(o); size != nil {
		return size.String()
	}
	return ""
}

// SizeOf is the same as a quantity; nil if the driver does not say.
func SizeOf(o client.Object) *resource.Quantity {
	if v, ok := o.(*snapshotv1.VolumeSnapshot); ok && v.Status != nil {
		return v.Status.RestoreSize
	}
	return nil
}
