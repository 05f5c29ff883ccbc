// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// snapshotsOf are VolumeSnapshots as the decisions see them. restoring names
// those that a PVC is still being filled from.
func snapshotsOf(outputs []client.Object, restoring map[string]bool) []retention.Snapshot {
	snapshots := make([]retention.Snapshot, len(outputs))
	for i, o := range outputs {
		v := o.(*snapshotv1.VolumeSnapshot)
		s := &snapshots[i]
		s.Name = v.Name
		s.Created = v.CreationTimestamp.Time
		s.Deleting = v.DeletionTimestamp != nil
		s.ScheduledAt = scheduledAt(v)
		if _, held := v.Annotations[v1alpha1.AnnotationHold]; held {
			s.Hold = retention.HoldAnnotation
		} else if restoring[v.Name] {
			s.Hold = retention.HoldRestore
		}
		if v.Status == nil {
			continue
		}
		s.ReadyToUse = ptr.Deref(v.Status.ReadyToUse, false)
		s.HasError = v.Status.Error != nil
		if v.Status.CreationTime != nil {
			s.HasCutTime, s.CutTime = true, v.Status.CreationTime.Time
		}
	}
	return snapshots
}

// scheduledAt is the slot that a snapshot was taken for; zero if it is not
// told or not readable.
func scheduledAt(v *snapshotv1.VolumeSnapshot) time.Time {
	slot, err := time.Parse(time.RFC3339, slotText(v))
	if err != nil {
		return time.Time{}
	}
	return slot.UTC()
}

// claimName is the PVC that a snapshot is taken of; empty for one that was
// made of an existing content.
func claimName(o client.Object) string {
	return ptr.Deref(o.(*snapshotv1.VolumeSnapshot).Spec.Source.PersistentVolumeClaimName, "")
}

// served tells whether a snapshot that nobody controls already serves the slot
// of a desired one: a user has taken it out of the schedule.
func served(desired, existing client.Object) bool {
	want, have := desired.(*snapshotv1.VolumeSnapshot), existing.(*snapshotv1.VolumeSnapshot)
	return scheduledAt(have).Equal(scheduledAt(want)) && claimName(have) == claimName(want)
}

func trueConditions(o client.Object) []string {
	if status := o.(*snapshotv1.VolumeSnapshot).Status; status != nil && ptr.Deref(status.ReadyToUse, false) {
		return onlyReady
	}
	return nil
}

// readyCount is the name of the count of ready snapshots in status.
const readyCount = "ready"

// onlyReady is shared: it is asked for of every snapshot in every look.
var onlyReady = []string{readyCount}
