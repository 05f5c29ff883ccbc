// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
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
		Name: v.Name, Created: v.CreationTimestamp.Time, Deleting: v.DeletionTimestamp != nil, ScheduledAt: slotOf(v), Rhythm: rhythmOf(v),
		Imported: v.Spec.Source.VolumeSnapshotContentName != nil,
	}
	s.HeldUntil, _ = HeldUntil(v)
	s.VerifiedAt, s.VerifyFailedAt = timeOfText(v.Annotations[v1alpha1.AnnotationVerifiedAt]), failedDrillOf(v).at
	if v.Status == nil {
		return s
	}
	if e := v.Status.Error; e != nil {
		s.HasError, s.ErrorTime = true, ptr.Deref(e.Time, metav1.Time{}).Time
	}
	setStage(&s, v.Status.ReadyToUse, v.Status.CreationTime)
	return s
}

// setStage sets whether a snapshot is ready, and when it was cut.
func setStage(s *retention.Snapshot, ready *bool, cut *metav1.Time) {
	s.ReadyToUse = ptr.Deref(ready, false)
	if cut != nil {
		s.HasCutTime, s.CutTime = true, cut.Time
	}
}

// maxDrillReason is how many bytes of the reason of a failed drill are kept and shown.
const maxDrillReason = 200

// failedDrill is what the annotation verify-failed of a snapshot says.
type failedDrill struct {
	// at is zero if the annotation is missing or malformed.
	at     time.Time
	reason string
}

func failedDrillOf(v *snapshotv1.VolumeSnapshot) failedDrill {
	at, reason, _ := strings.Cut(v.Annotations[v1alpha1.AnnotationVerifyFailed], " ")
	return failedDrill{timeOfText(at), report.Text(reason, maxDrillReason)}
}

// String returns the value of the annotation.
func (d failedDrill) String() string { return d.at.Format(time.RFC3339Nano) + " " + d.reason }

// words returns the reason for people.
func (d failedDrill) words() string { return cmp.Or(d.reason, "it gives no reason") }

// HeldUntil returns when the hold annotation of a snapshot, which may be missing,
// ends: retention.Forever if its value is no RFC 3339 time.
func HeldUntil(v client.Object) (end time.Time, held bool) {
	text, held := v.GetAnnotations()[v1alpha1.AnnotationHold]
	if !held {
		return time.Time{}, false
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil || end.After(retention.Forever) {
		return retention.Forever, true
	}
	return end.UTC(), true
}

// Uncut returns whether a snapshot holds no data yet.
func Uncut(o client.Object) bool {
	s, known := snapshotFrom(o)
	return known && s.Uncut()
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

// earliest returns the first of some times; a zero one means never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// claimName returns the PVC that a snapshot is taken of; empty for one that was
// made from an existing content, and for one of which only the metadata was read.
func claimName(o client.Object) string {
	if v, ok := o.(*snapshotv1.VolumeSnapshot); ok {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "")
	}
	return ""
}

// covers returns whether an existing snapshot was taken for the slot and the PVC, or the
// PVCs, of a desired one. If a user released it, the slot is covered all the same.
func covers(desired, existing client.Object) bool {
	return slotOf(existing).Equal(slotOf(desired)) && claimName(existing) == claimName(desired) &&
		maps.Equal(ClaimsOf(existing), ClaimsOf(desired))
}

// slotOf returns the slot that a snapshot, or a group snapshot, was taken for; zero if it is
// missing or malformed.
func slotOf(o client.Object) time.Time { return timeOfText(slotText(o)) }

// rhythmOf returns the slot from which those of the series went on when the snapshot was taken; see [retention.Rhythm].
func rhythmOf(o client.Object) time.Time {
	return timeOfText(o.GetAnnotations()[v1alpha1.AnnotationRhythm])
}

// readyToUse returns whether a snapshot, or a group snapshot, is or was ready. One that is being deleted
// is not: see Ready.
func readyToUse(o client.Object) bool {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
	case *groupv1.VolumeGroupSnapshot:
		return v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
	}
	return false
}

// Ready returns whether a PVC can be restored from a snapshot, or PVCs from a group snapshot: it is ready
// to use and not being deleted.
func Ready(o client.Object) bool { return o.GetDeletionTimestamp() == nil && readyToUse(o) }

// nounOf returns the kind of a snapshot, for messages.
func nounOf(o client.Object) string {
	if _, ok := o.(*groupv1.VolumeGroupSnapshot); ok || o.GetObjectKind().GroupVersionKind().Kind == "VolumeGroupSnapshot" {
		return "VolumeGroupSnapshot"
	}
	return "VolumeSnapshot"
}

// conditions returns whether a snapshot is ready and whether it is being deleted, for the counts in
// status. The results are shared, because every pass asks about every snapshot.
func conditions(o client.Object) []metav1.Condition {
	switch {
	case Ready(o):
		return isReadyCondition
	case o.GetDeletionTimestamp() != nil:
		return terminatingConditions
	}
	return notReadyCondition
}

// Every pass asks for the condition of every snapshot.
var (
	isReadyCondition  = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	notReadyCondition = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}

	terminatingConditions = append(slices.Clone(notReadyCondition), metav1.Condition{Type: "Terminating", Status: metav1.ConditionTrue})
)

// slotText returns the slot of a snapshot of the cache or of the API server. The
// cache keeps it in generateName, which it has no other use for: a map with this
// one annotation would be a third of a cached snapshot's size. An informer may
// strip a snapshot twice.
func slotText(o client.Object) string {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationScheduledAt]
	if !ok {
		text = o.GetGenerateName()
	}
	if len(text) > len(time.RFC3339Nano) { // it is no time, and may have 256 KiB
		return ""
	}
	return text
}

// snapshotFrom returns a snapshot, or a group snapshot, as decisions see it; not ok for anything else,
// as for what lost its map key, of which only the metadata is known.
func snapshotFrom(o client.Object) (s retention.Snapshot, ok bool) {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return snapshotOf(v), true
	case *groupv1.VolumeGroupSnapshot:
		return snapshotOfGroup(v), true
	}
	return s, false
}

// snapshotOfGroup returns what decisions read of one VolumeGroupSnapshot.
func snapshotOfGroup(v *groupv1.VolumeGroupSnapshot) retention.Snapshot {
	s := retention.Snapshot{
		Name: v.Name, Created: v.CreationTimestamp.Time, Deleting: v.DeletionTimestamp != nil, ScheduledAt: slotOf(v), Rhythm: rhythmOf(v),
		Imported: v.Spec.Source.VolumeGroupSnapshotContentName != nil,
	}
	s.HeldUntil, _ = HeldUntil(v)
	if v.Status == nil {
		return s
	}
	if e := v.Status.Error; e != nil {
		s.HasError, s.ErrorTime = true, ptr.Deref(e.Time, metav1.Time{}).Time
	}
	setStage(&s, v.Status.ReadyToUse, v.Status.CreationTime)
	return s
}
