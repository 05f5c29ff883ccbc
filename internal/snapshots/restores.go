// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
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
// namespace, and those of the namespace that are being deleted, which a snapshot may keep.
func Restores(namespace string, claims []client.Object) []client.Object {
	var restores []client.Object
	for _, claim := range claims {
		if from, _, ok := restoringFrom(claim.(*corev1.PersistentVolumeClaim)); ok && from == namespace ||
			claim.GetNamespace() == namespace && claim.GetDeletionTimestamp() != nil {
			restores = append(restores, claim)
		}
	}
	return restores
}

// leavingCheck is how often a snapshot of a PVC that is gone is checked, while it is not ready: no event of its key shows that another
// PVC of that name is being deleted.
const leavingCheck = time.Minute

// anyClaim is the example of the kind that is looked up.
var anyClaim = &corev1.PersistentVolumeClaim{}

// leavingIndex finds the PVCs that are being deleted, by their namespace.
var leavingIndex = informer.Index{Name: Name + "/leaving", Values: func(o client.Object) []string {
	if o.GetDeletionTimestamp() != nil {
		return []string{o.GetNamespace()}
	}
	return nil
}}

// leavingFrom returns the PVCs of a namespace that are being deleted and whose names are those of the sources of some snapshots.
func leavingFrom(stores *informer.Stores, namespace string, snapshots []client.Object) []client.Object {
	leaving := stores.ByIndex(nil, anyClaim, leavingIndex, namespace)
	if len(leaving) == 0 {
		return nil
	}
	names := map[string]bool{}
	for _, o := range snapshots {
		names[backup.ClaimName(o)] = true
		for name := range backup.ClaimsOf(o) {
			names[name] = true
		}
	}
	return slices.DeleteFunc(leaving, func(o client.Object) bool { return !names[o.GetName()] })
}

// leavingOf returns the first PVC that is being deleted and has the name of the source of one of some snapshots. The
// snapshot controller goes by the name: a snapshot of an earlier PVC keeps it, too.
func leavingOf(snapshots, related []client.Object) []client.Object {
	for _, o := range related {
		claim, isClaim := o.(*corev1.PersistentVolumeClaim)
		if isClaim && claim.DeletionTimestamp != nil && slices.ContainsFunc(snapshots, func(s client.Object) bool {
			return backup.ClaimName(s) == claim.Name && s.GetNamespace() == claim.Namespace
		}) {
			return []client.Object{claim}
		}
	}
	return nil
}

// mayKeepClaim returns whether a snapshot with data keeps PVCs of the name of its source.
func mayKeepClaim(s retention.Snapshot) bool { return !s.Uncut() && !s.ReadyToUse && !s.Imported }

// recordedLeaving returns the PVCs that group snapshots record and whose names are those of PVCs that are being deleted.
func recordedLeaving(seen mapcontroller.Observation) map[types.UID]client.Object {
	var found map[types.UID]client.Object
	for _, o := range seen.Related {
		claim, isClaim := o.(*corev1.PersistentVolumeClaim)
		if !isClaim || claim.DeletionTimestamp == nil {
			continue
		}
		for _, v := range seen.Outputs {
			if uid, recorded := backup.ClaimsOf(v)[claim.Name]; recorded && v.GetNamespace() == claim.Namespace {
				if found == nil {
					found = map[types.UID]client.Object{}
				}
				found[uid] = claim
			}
		}
	}
	return found
}
