// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// snapshotsOf returns VolumeSnapshots as decisions see them. restoring names those
// that a PVC is still being restored from.
func snapshotsOf(outputs []client.Object, restoring map[string]bool) []retention.Snapshot {
	snapshots := make([]retention.Snapshot, len(outputs))
	for i, o := range outputs {
		s := &snapshots[i]
		*s = snapshotOf(o.(*snapshotv1.VolumeSnapshot))
		s.Restoring = restoring[s.Name]
	}
	return snapshots
}

// snapshotOf returns what decisions read of one VolumeSnapshot.
func snapshotOf(v *snapshotv1.VolumeSnapshot) retention.Snapshot {
	s := retention.Snapshot{
		Name: v.Name, Created: v.CreationTimestamp.Time, Deleting: v.DeletionTimestamp != nil, ScheduledAt: scheduledAt(v),
		Imported: v.Spec.Source.VolumeSnapshotContentName != nil,
	}
	s.HeldUntil, _ = HeldUntil(v)
	s.VerifiedAt, s.VerifyFailedAt = timeOfText(v.Annotations[v1alpha1.AnnotationVerifiedAt]), failedDrillOf(v).at
	if v.Status == nil {
		return s
	}
	s.ReadyToUse = ptr.Deref(v.Status.ReadyToUse, false)
	if e := v.Status.Error; e != nil {
		s.HasError, s.ErrorTime = true, ptr.Deref(e.Time, metav1.Time{}).Time
	}
	if v.Status.CreationTime != nil {
		s.HasCutTime, s.CutTime = true, v.Status.CreationTime.Time
	}
	return s
}

// HeldUntil returns when the hold annotation of a snapshot, which may be missing,
// ends: retention.Forever if its value is no RFC 3339 time.
func HeldUntil(v *snapshotv1.VolumeSnapshot) (end time.Time, held bool) {
	text, held := v.Annotations[v1alpha1.AnnotationHold]
	if !held {
		return time.Time{}, false
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil || end.After(retention.Forever) {
		return retention.Forever, true
	}
	return end.UTC(), true
}

// scheduledAt returns the slot that a snapshot was taken for; zero if it is
// missing or malformed.
func scheduledAt(v *snapshotv1.VolumeSnapshot) time.Time {
	return timeOfText(slotText(v))
}

// timeOfText returns an RFC 3339 time; zero if the text is none.
func timeOfText(text string) time.Time {
	if text == "" || len(text) > len(time.RFC3339Nano) { // it is no time, and may have 256 KiB
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// claimName returns the PVC that a snapshot is taken of; empty for one that was
// made from an existing content, and for one of which only the metadata was read.
func claimName(o client.Object) string {
	if v, ok := o.(*snapshotv1.VolumeSnapshot); ok {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "")
	}
	return ""
}

// covers returns whether an existing snapshot was taken for the slot and the PVC
// of a desired one. If a user released it, the slot is covered all the same.
func covers(desired, existing client.Object) bool {
	want, have := desired.(*snapshotv1.VolumeSnapshot), existing.(*snapshotv1.VolumeSnapshot)
	return scheduledAt(have).Equal(scheduledAt(want)) && claimName(have) == claimName(want)
}

func readyToUse(o client.Object) bool {
	status := o.(*snapshotv1.VolumeSnapshot).Status
	return status != nil && ptr.Deref(status.ReadyToUse, false)
}

// conditions returns whether a snapshot is ready, for the counts in status. The
// results are shared, because every pass asks about every snapshot.
func conditions(o client.Object) []metav1.Condition {
	if readyToUse(o) {
		return isReadyCondition
	}
	return notReadyCondition
}

// Every pass asks for the condition of every snapshot.
var (
	isReadyCondition  = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	notReadyCondition = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}
)

// isUncut is retention's Uncut, without parsing anything: every pass asks it of every
// snapshot.
func isUncut(v *snapshotv1.VolumeSnapshot) bool {
	return v.Spec.Source.VolumeSnapshotContentName == nil && !readyToUse(v) && (v.Status == nil || v.Status.CreationTime == nil)
}

// slotText returns the slot of a snapshot of the cache or of the API server. The
// cache keeps it in generateName, which it has no other use for: a map with this
// one annotation would be a third of a cached snapshot's size. An informer may
// strip a snapshot twice.
func slotText(v *snapshotv1.VolumeSnapshot) string {
	text, ok := v.Annotations[v1alpha1.AnnotationScheduledAt]
	if !ok {
		text = v.GenerateName
	}
	if len(text) > len(time.RFC3339Nano) { // it is no time, and may have 256 KiB
		return ""
	}
	return text
}
