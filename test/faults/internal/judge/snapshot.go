// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// What the contract says about a single VolumeSnapshot.

// isReady returns whether a snapshot is ready to use and not being deleted.
func isReady(s *snapshotv1.VolumeSnapshot) bool { return s.DeletionTimestamp == nil && readyToUse(s) }

func readyToUse(s *snapshotv1.VolumeSnapshot) bool {
	return s.Status != nil && s.Status.ReadyToUse != nil && *s.Status.ReadyToUse
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

// coveredSlot returns the slot that a snapshot covers. An imported one covers that of its scheduled-at, or none.
func coveredSlot(s *snapshotv1.VolumeSnapshot, now time.Time) (slot time.Time, ok bool) {
	if isImported(s) {
		slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
		return slot, err == nil && !slot.After(now)
	}
	return slotOf(s, now), true
}

// clocksApart is by how much a slot may be later than the creation of its snapshot, because the clocks of API servers and operators
// differ: then it still says to which period the snapshot belongs.
const clocksApart = maxSkew + 2*time.Second

// placeOf returns when a snapshot belongs for calendar tiers: at its scheduled-at, unless that is missing, malformed or later than its
// creation by more than clocks may differ.
func placeOf(s *snapshotv1.VolumeSnapshot) time.Time {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	if created := s.CreationTimestamp.Time; err != nil || slot.Sub(created) > clocksApart {
		return created
	}
	return slot
}

// slotOf returns the slot by which a snapshot is sorted.
func slotOf(s *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || slot.After(now) {
		return s.CreationTimestamp.Time
	}
	return slot
}

// newestFirst sorts by scheduled-at, then creationTimestamp, then name.
func newestFirst(series []*snapshotv1.VolumeSnapshot, now time.Time) []*snapshotv1.VolumeSnapshot {
	type placed struct {
		*snapshotv1.VolumeSnapshot
		slot time.Time
	}
	order := make([]placed, len(series))
	for i, s := range series {
		order[i] = placed{VolumeSnapshot: s, slot: slotOf(s, now)}
	}
	slices.SortFunc(order, func(a, b placed) int {
		return -cmp.Or(
			a.slot.Compare(b.slot),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			strings.Compare(a.Name, b.Name),
		)
	})
	sorted := make([]*snapshotv1.VolumeSnapshot, len(order))
	for i, p := range order {
		sorted[i] = p.VolumeSnapshot
	}
	return sorted
}

func readyOnes(series []*snapshotv1.VolumeSnapshot) []*snapshotv1.VolumeSnapshot {
	var ready []*snapshotv1.VolumeSnapshot
	for _, s := range series {
		if isReady(s) {
			ready = append(ready, s)
		}
	}
	return ready
}
