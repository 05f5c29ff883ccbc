// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// volumesOfClaims returns the volumes of PVCs by their names, as a group snapshot records them.
func volumesOfClaims(claims []*corev1.PersistentVolumeClaim) map[string]string {
	volumes := map[string]string{}
	for _, claim := range claims {
		if claim.Spec.VolumeName != "" {
			volumes[claim.Name] = claim.Spec.VolumeName
		}
	}
	return volumes
}

// volumeText returns the annotation with the volume of a snapshot, or the volumes of a group snapshot. The cache keeps that of a
// snapshot among its labels, which the snapshots of a series share.
func volumeText(o client.Object) string {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationVolume]
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); isGroup {
		if len(text) > 2*maxRecord {
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

// recordedVolume returns of which volume of a PVC a snapshot, or a group snapshot, was taken; empty if it does not say so.
func recordedVolume(o client.Object, claim string) string {
	text := volumeText(o)
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); !isGroup {
		return text
	}
	var volumes map[string]string
	if text == "" || json.Unmarshal([]byte(text), &volumes) != nil {
		return ""
	}
	return volumes[claim]
}

// isOfVolume returns whether a snapshot, or a group snapshot, of a PVC is of the volume that the PVC has now. A rollback
// carries over those of an earlier one. What does not say of which volume it is, is of an earlier one if it is older than the PVC.
func isOfVolume(o client.Object, claim *corev1.PersistentVolumeClaim) bool {
	if volume := recordedVolume(o, claim.Name); volume != "" {
		return volume == claim.Spec.VolumeName
	}
	created := o.GetCreationTimestamp()
	return !created.Before(&claim.CreationTimestamp)
}

// stripVolume keeps the volume of a snapshot whose labels are stripped.
func stripVolume(v *snapshotv1.VolumeSnapshot, volume string) {
	if volume == "" {
		return
	}
	if v.Labels == nil {
		v.Labels = map[string]string{}
	}
	v.Labels[v1alpha1.AnnotationVolume] = volume
}
