// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// What the contract says about a single VolumeSnapshot.

// isReady returns whether a snapshot is ready to use and not being deleted.
func isReady(s *snapshotv1.VolumeSnapshot) bool { return s.DeletionTimestamp == nil && readyToUse(s) }

func readyToUse(s *snapshotv1.VolumeSnapshot) bool {
	return s.Status != nil && ptr.Deref(s.Status.ReadyToUse, false)
}

func cutTime(s *snapshotv1.VolumeSnapshot) (time.Time, bool) {
	if s.Status == nil || s.Status.CreationTime == nil {
		return time.Time{}, false
	}
	return s.Status.CreationTime.Time, true
}

// isImported returns whether a snapshot was made from a content, so that it holds data from the start.
func isImported(s *snapshotv1.VolumeSnapshot) bool {
	return s.Spec.Source.VolumeSnapshotContentName != nil
}

// isUncut returns whether the driver has not reported that it took the snapshot. One that is ready to use was taken.
func isUncut(s *snapshotv1.VolumeSnapshot) bool {
	_, cut := cutTime(s)
	return !cut && !readyToUse(s) && !isImported(s)
}

// isHeld returns whether the hold annotation holds a snapshot: a time is when it ends, and every other value holds for ever.
func isHeld(s *snapshotv1.VolumeSnapshot, now time.Time) bool {
	text, held := s.Annotations[v1alpha1.AnnotationHold]
	end, err := time.Parse(time.RFC3339, text)
	return held && (err != nil || now.Before(end))
}

func inError(s *snapshotv1.VolumeSnapshot) bool { return s.Status != nil && s.Status.Error != nil }

// errorAge returns how long ago the error of a snapshot last changed. Without a time it is older than everything.
func errorAge(s *snapshotv1.VolumeSnapshot, now time.Time) time.Duration {
	if s.Status.Error.Time == nil {
		return longest
	}
	return now.Sub(s.Status.Error.Time.Time)
}

// ageBase returns from when age counts: never from before the object's creation, whatever a driver reports.
func ageBase(s *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	base := s.CreationTimestamp.Time
	if cut, ok := cutTime(s); ok && cut.After(base) && !cut.After(now) {
		base = cut
	}
	return base
}

func scheduledAt(s *snapshotv1.VolumeSnapshot) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	return at, err == nil
}

// slotOf returns the slot by which a snapshot is sorted.
func slotOf(s *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	if slot, ok := scheduledAt(s); ok && !slot.After(now) {
		return slot
	}
	return s.CreationTimestamp.Time
}

// coveredSlot returns the slot that a snapshot covers. An imported one covers that of its scheduled-at, or none.
func coveredSlot(s *snapshotv1.VolumeSnapshot, now time.Time) (slot time.Time, ok bool) {
	if slot, ok = scheduledAt(s); isImported(s) {
		return slot, ok && !slot.After(now)
	}
	return slotOf(s, now), true
}

// clocksApart is by how much a slot may be later than the creation of its snapshot, because the clocks of API servers and operators
// differ: then it still says to which period the snapshot belongs.
const clocksApart = maxSkew + 2*time.Second

// placeOf returns when a snapshot belongs for calendar tiers: at its scheduled-at, unless that is missing, malformed or later than its
// creation by more than clocks may differ.
func placeOf(s *snapshotv1.VolumeSnapshot) time.Time {
	created := s.CreationTimestamp.Time
	if slot, ok := scheduledAt(s); ok && slot.Sub(created) <= clocksApart {
		return slot
	}
	return created
}

// newestFirst sorts by scheduled-at, then creationTimestamp, then name.
func newestFirst(all []*snapshotv1.VolumeSnapshot, now time.Time) []*snapshotv1.VolumeSnapshot {
	return slices.SortedFunc(slices.Values(all), func(a, b *snapshotv1.VolumeSnapshot) int {
		return cmp.Or(
			slotOf(b, now).Compare(slotOf(a, now)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			strings.Compare(b.Name, a.Name),
		)
	})
}

func readyOnes(all []*snapshotv1.VolumeSnapshot) []*snapshotv1.VolumeSnapshot {
	return slices.DeleteFunc(slices.Clone(all), func(s *snapshotv1.VolumeSnapshot) bool { return !isReady(s) })
}

// sourceOf returns the name of the PVC that a snapshot was taken of.
func sourceOf(s *snapshotv1.VolumeSnapshot) string {
	return ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "a content")
}

// Slot returns the slot of a snapshot, zero if it has none.
func Slot(s *snapshotv1.VolumeSnapshot) time.Time {
	at, _ := scheduledAt(s)
	return at
}
