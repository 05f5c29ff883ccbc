// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/informer"
)

// restoringFrom returns the snapshot that a PVC is still being restored from.
func restoringFrom(claim *corev1.PersistentVolumeClaim) (namespace, name string, ok bool) {
	if claim.Status.Phase != corev1.ClaimPending {
		return "", "", false
	}
	// The API server sets each of the two from the other where it can.
	if ref := claim.Spec.DataSourceRef; ref != nil && isSnapshot(ref.APIGroup, ref.Kind) {
		if ref.Namespace != nil && *ref.Namespace != "" {
			return *ref.Namespace, ref.Name, true
		}
		return claim.Namespace, ref.Name, true
	}
	if ref := claim.Spec.DataSource; ref != nil && isSnapshot(ref.APIGroup, ref.Kind) {
		return claim.Namespace, ref.Name, true
	}
	return "", "", false
}

func isSnapshot(group *string, kind string) bool {
	return group != nil && *group == snapshotv1.GroupName && kind == "VolumeSnapshot"
}

// restoresIndex finds the PVCs that are still being restored from a
// VolumeSnapshot, by the namespace of the snapshot.
var restoresIndex = informer.Index{Name: Name + "/restores", Values: func(o client.Object) []string {
	if namespace, _, ok := restoringFrom(o.(*corev1.PersistentVolumeClaim)); ok {
		return []string{namespace}
	}
	return nil
}}

// restoring returns the names of the snapshots that PVCs are being restored from.
func restoring(related []client.Object) map[string]bool {
	var names map[string]bool
	for _, o := range related {
		if claim, isClaim := o.(*corev1.PersistentVolumeClaim); isClaim {
			if _, name, ok := restoringFrom(claim); ok {
				if names == nil {
					names = map[string]bool{}
				}
				names[name] = true
			}
		}
	}
	return names
}

// Restores returns those PVCs that are still being restored from a snapshot of a
// namespace.
func Restores(namespace string, claims []client.Object) []client.Object {
	var restores []client.Object
	for _, claim := range claims {
		if from, _, ok := restoringFrom(claim.(*corev1.PersistentVolumeClaim)); ok && from == namespace {
			restores = append(restores, claim)
		}
	}
	return restores
}
