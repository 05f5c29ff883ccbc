// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "time"

// Claim is the relation of the series' PVC to the schedule.
type Claim uint8

const (
	// Selected: the PVC exists and is an input of the schedule.
	Selected Claim = iota
	// Unselected: the PVC exists but is not an input. The series is detached.
	Unselected
	// Gone: no PVC has this UID any more. The series is detached.
	Gone
)

// Series is the snapshots of one PVC under one schedule.
type Series struct {
	Claim Claim
	// ClaimDeleting reports whether the PVC is being deleted.
	ClaimDeleting bool
	// Slot is the current slot, if a snapshot may be taken for it. It is zero if
	// there is none, for example because the PVC cannot be snapshotted now.
	Slot time.Time
	// VolumeFull reports whether the volume of the PVC has as many snapshots, of all schedules, as
	// it may have.
	VolumeFull bool
	// Snapshots may be in any order.
	Snapshots []Snapshot
}

// Newest returns the index of the newest snapshot that was taken, not imported,
// terminating ones included, or -1 if there is none.
func Newest(snapshots []Snapshot, now time.Time) int {
	newest := -1
	for i := range snapshots {
		if !snapshots[i].Imported && (newest < 0 || compareAge(&snapshots[newest], &snapshots[i], now) < 0) {
			newest = i
		}
	}
	return newest
}

// NewestReady returns the index of the newest ready snapshot, or -1 if there is
// none. Its AgeBase is the recovery point of the PVC.
func NewestReady(snapshots []Snapshot, now time.Time) int {
	newest := -1
	for i := range snapshots {
		if snapshots[i].IsReady() && (newest < 0 || compareAge(&snapshots[newest], &snapshots[i], now) < 0) {
			newest = i
		}
	}
	return newest
}

// Covered reports whether a snapshot covers the given slot or a later one. Its
// state does not matter: a failed snapshot is replaced at the next slot only, and
// a terminating one occupies its name until it is gone.
func Covered(snapshots []Snapshot, slot, now time.Time) bool {
	return !LastSlot(snapshots, now).Before(slot)
}

// LastSlot returns the newest slot that a snapshot covers, zero if none does.
func LastSlot(snapshots []Snapshot, now time.Time) time.Time {
	return lastSlot(snapshots, now, func(*Snapshot) bool { return true })
}

// LastReadySlot returns the newest slot that a ready snapshot covers, zero if none does.
func LastReadySlot(snapshots []Snapshot, now time.Time) time.Time {
	return lastSlot(snapshots, now, (*Snapshot).IsReady)
}

// Rhythm returns the slot from which the slots of a series go on whose PVC was created at a time: the newest that a
// snapshot covers which is older than the PVC, or that a snapshot names which was taken in that rhythm, since the older
// ones go. Zero if there is none.
func Rhythm(created time.Time, snapshots []Snapshot, now time.Time) time.Time {
	last := lastSlot(snapshots, now, func(s *Snapshot) bool { return s.Created.Before(created) })
	for i := range snapshots {
		if slot := snapshots[i].Rhythm; slot.After(last) && !slot.After(now) {
			last = slot
		}
	}
	return last
}

func lastSlot(snapshots []Snapshot, now time.Time, counts func(*Snapshot) bool) time.Time {
	var last time.Time
	for i := range snapshots {
		if slot := snapshots[i].covers(now); slot.After(last) && counts(&snapshots[i]) {
			last = slot
		}
	}
	return last
}
