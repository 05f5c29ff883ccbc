// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Of returns a snapshot, or a group snapshot, as decisions see it.
func Of(o client.Object) retention.Snapshot {
	s, _ := From(o)
	return s
}

// From is Of; not ok for anything else, as for what lost its map key, of which only the metadata is known.
func From(o client.Object) (s retention.Snapshot, ok bool) {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		s.VerifiedAt, s.VerifyFailedAt = timeOfText(v.Annotations[v1alpha1.AnnotationVerifiedAt]), FailedDrillOf(v).At
		if v.Status != nil {
			setStage(&s, v.Status.ReadyToUse, v.Status.CreationTime)
			if e := v.Status.Error; e != nil {
				s.HasError, s.ErrorTime = true, ptr.Deref(e.Time, metav1.Time{}).Time
			}
		}
	case *groupv1.VolumeGroupSnapshot:
		if v.Status != nil {
			setStage(&s, v.Status.ReadyToUse, v.Status.CreationTime)
			if e := v.Status.Error; e != nil {
				s.HasError, s.ErrorTime = true, ptr.Deref(e.Time, metav1.Time{}).Time
			}
		}
	default:
		return s, false
	}
	s.Name, s.Created, s.Deleting = o.GetName(), o.GetCreationTimestamp().Time, Terminating(o)
	s.ScheduledAt, s.Rhythm, s.Imported = SlotOf(o), RhythmOf(o), Imported(o)
	s.HeldUntil, _ = HeldUntil(o)
	return s, true
}

// setStage sets whether a snapshot is ready, and when it was cut.
func setStage(s *retention.Snapshot, ready *bool, cut *metav1.Time) {
	s.ReadyToUse = ptr.Deref(ready, false)
	if cut != nil {
		s.HasCutTime, s.CutTime = true, cut.Time
	}
}

// StateOf returns how far a snapshot has come.
func StateOf(o client.Object, now time.Time, readyDeadline time.Duration) retention.State {
	s := Of(o)
	return s.State(now, readyDeadline)
}

// Uncut returns whether a snapshot holds no data yet.
func Uncut(o client.Object) bool {
	s, known := From(o)
	return known && s.Uncut()
}

// ReadyToUse returns whether a snapshot, or a group snapshot, is or was ready. One that is being deleted
// is not: see Ready.
func ReadyToUse(o client.Object) bool {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
	case *groupv1.VolumeGroupSnapshot:
		return v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
	}
	return false
}

// Terminating returns whether an object is being deleted.
func Terminating(o client.Object) bool { return o.GetDeletionTimestamp() != nil }

// Ready returns whether a PVC can be restored from a snapshot, or PVCs from a group snapshot: it is ready
// to use and not being deleted.
func Ready(o client.Object) bool { return !Terminating(o) && ReadyToUse(o) }

// HeldUntil returns when the hold annotation of a snapshot, which may be missing,
// ends: retention.Forever if its value is no RFC 3339 time.
func HeldUntil(v client.Object) (end time.Time, held bool) {
	text, held := HoldText(v)
	if !held {
		return time.Time{}, false
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil || end.After(retention.Forever) {
		return retention.Forever, true
	}
	return end.UTC(), true
}

// HoldText returns the hold annotation of a snapshot, which anybody may have written.
func HoldText(v client.Object) (text string, held bool) {
	text, held = v.GetAnnotations()[v1alpha1.AnnotationHold]
	return text, held
}

// ClaimName returns the PVC that a snapshot is taken of; empty for one that was
// made from an existing content, and for one of which only the metadata was read.
func ClaimName(o client.Object) string {
	if v, ok := o.(*snapshotv1.VolumeSnapshot); ok {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "")
	}
	return ""
}

// ContentName returns the VolumeSnapshotContent that a snapshot is bound to; empty if it is bound to none yet.
func ContentName(v *snapshotv1.VolumeSnapshot) string {
	if v.Status == nil {
		return ""
	}
	return ptr.Deref(v.Status.BoundVolumeSnapshotContentName, "")
}

// Imported returns whether a snapshot, or a group snapshot, was made from an existing content, and not taken.
func Imported(o client.Object) bool {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return v.Spec.Source.VolumeSnapshotContentName != nil
	case *groupv1.VolumeGroupSnapshot:
		return v.Spec.Source.VolumeGroupSnapshotContentName != nil
	}
	return false
}

// ClassOf returns the name of the class in a snapshot, or a group snapshot; nil if it has none.
func ClassOf(o client.Object) *string {
	switch v := o.(type) {
	case *snapshotv1.VolumeSnapshot:
		return v.Spec.VolumeSnapshotClassName
	case *groupv1.VolumeGroupSnapshot:
		return v.Spec.VolumeGroupSnapshotClassName
	}
	return nil
}

// SlotOf returns the slot that a snapshot, or a group snapshot, was taken for; zero if it is
// missing or malformed.
func SlotOf(o client.Object) time.Time { return timeOfText(SlotText(o)) }

// SlotText returns the slot of a snapshot of the cache or of the API server. The
// cache keeps it in generateName, which it has no other use for: a map with this
// one annotation would be a third of a cached snapshot's size. An informer may
// strip a snapshot twice.
func SlotText(o client.Object) string {
	text, ok := o.GetAnnotations()[v1alpha1.AnnotationScheduledAt]
	if !ok {
		text = o.GetGenerateName()
	}
	if len(text) > len(time.RFC3339Nano) { // it is no time, and may have 256 KiB
		return ""
	}
	return text
}

// RhythmOf returns the slot from which those of the series went on when the snapshot was taken; see [retention.Rhythm].
func RhythmOf(o client.Object) time.Time {
	return timeOfText(o.GetAnnotations()[v1alpha1.AnnotationRhythm])
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

// Noun returns the kind of a snapshot, for messages.
func Noun(o client.Object) string {
	if _, ok := o.(*groupv1.VolumeGroupSnapshot); ok || o.GetObjectKind().GroupVersionKind().Kind == "VolumeGroupSnapshot" {
		return "VolumeGroupSnapshot"
	}
	return "VolumeSnapshot"
}
