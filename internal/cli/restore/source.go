// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Whose data a snapshot holds is what its source says. Labels can be edited, so a map key
// decides only about an imported snapshot, whose source names no PVC.

// Imported returns whether a snapshot was made from an existing content.
func Imported(v *snapshotv1.VolumeSnapshot) bool {
	return v.Spec.Source.VolumeSnapshotContentName != nil
}

// claimName returns the name of the PVC that a snapshot was taken of; empty for
// an imported one.
func claimName(v *snapshotv1.VolumeSnapshot) string {
	return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "")
}

// OfClaim returns the snapshots of all PVCs, past and present, with a name. Those of a
// PVC that was deleted and created again are included, whoever took them. Imported ones
// are included if their map key is one of the PVCs'.
// claim is the PVC that has the name now, or nil.
func OfClaim(all []snapshotv1.VolumeSnapshot, name string, claim *corev1.PersistentVolumeClaim) []*snapshotv1.VolumeSnapshot {
	// A map key that snapshots of another PVC have, too, is not known to be this PVC's.
	keys := map[string]bool{}
	for i := range all {
		if key, of := all[i].Labels[v1alpha1.LabelMapKey], claimName(&all[i]); of != "" {
			before, known := keys[key]
			keys[key] = of == name && (before || !known)
		}
	}
	if claim != nil {
		keys[string(claim.UID)] = true
	}
	delete(keys, "")
	var found []*snapshotv1.VolumeSnapshot
	for i := range all {
		if v := &all[i]; claimName(v) == name || Imported(v) && keys[v.Labels[v1alpha1.LabelMapKey]] {
			found = append(found, v)
		}
	}
	return found
}

// SourceClaim returns the PVC that a snapshot was taken of, or nil if it is gone. A PVC
// of its name that is younger than the snapshot is another one.
func SourceClaim(v *snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	key, name := v.Labels[v1alpha1.LabelMapKey], claimName(v)
	for i := range claims {
		claim := &claims[i]
		hasKey := string(claim.UID) == key
		if name == "" && hasKey || name == claim.Name && (hasKey || !claim.CreationTimestamp.After(v.CreationTimestamp.Time)) {
			return claim
		}
	}
	return nil
}
