// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// Orphans judges schedules that had the release finalizer when they were deleted, other than in the foreground: none may end while
// it still controls a snapshot that it controlled at the deletion, because the garbage collector would delete that one.
func Orphans(h *history.History) []oracle.Violation {
	var found []oracle.Violation
	snapshots := map[types.UID]*snapshotv1.VolumeSnapshot{}
	mustSurvive := map[types.UID][]types.UID{}
	for i, c := range h.Changes {
		switch before := c.Before.(type) {
		case *snapshotv1.VolumeSnapshot:
			delete(snapshots, before.UID)
		case *v1alpha1.SnapshotSchedule:
			if beginsDeletion(c) && slices.Contains(before.Finalizers, v1alpha1.FinalizerRelease) &&
				!slices.Contains(c.After.GetFinalizers(), kube.FinalizerForeground) {
				mustSurvive[before.UID] = ownedBy(snapshots, before)
			}
			if c.After == nil {
				if left := stillOwned(snapshots, before, mustSurvive[before.UID]); left != "" {
					found = append(found, oracle.Violation{
						Oracle: "Orphan", At: c.At, Change: i, Request: c.Request,
						Message: fmt.Sprintf("SnapshotSchedule %s was removed while it still controlled VolumeSnapshot %s", before.Name, left),
					})
				}
			}
		}
		if after, ok := c.After.(*snapshotv1.VolumeSnapshot); ok {
			snapshots[after.UID] = after
		}
	}
	return found
}

func beginsDeletion(c history.Change) bool {
	return c.After != nil && c.After.GetDeletionTimestamp() != nil && c.Before.GetDeletionTimestamp() == nil
}

func ownedBy(snapshots map[types.UID]*snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule) (owned []types.UID) {
	if s.Spec.DeletionPolicy != v1alpha1.DeletionOrphan {
		return nil
	}
	for uid, v := range snapshots {
		if metav1.IsControlledBy(v, s) {
			owned = append(owned, uid)
		}
	}
	return owned
}

func stillOwned(snapshots map[types.UID]*snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule, uids []types.UID) string {
	if s.Spec.DeletionPolicy != v1alpha1.DeletionOrphan || slices.Contains(s.Finalizers, kube.FinalizerForeground) {
		return ""
	}
	var names []string
	for _, uid := range uids {
		if v := snapshots[uid]; v != nil && metav1.IsControlledBy(v, s) {
			names = append(names, v.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}
