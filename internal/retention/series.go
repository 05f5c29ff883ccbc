// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "time"

// Claim is how the PVC of a series stands to the schedule.
type Claim uint8

const (
	// Selected: the PVC exists and the selector matches it.
	Selected Claim = iota
	// Unselected: it exists, but no longer matches. The series is detached.
	Unselected
	// Gone: no PVC has this UID any more. The series is detached.
	Gone
)

// Series is the snapshots of one PVC (one map key) and how the PVC stands.
type Series struct {
	Claim Claim
	// ClaimDeleting: the PVC exists and is being deleted.
	ClaimDeleting bool
	// SlotDue: a slot is due and would be taken now but for uncut snapshots
	// (Taking.Due). It lets uncut failed ones be replaced.
	SlotDue bool
	// Snapshots in any order: it makes no difference to any decision.
	Snapshots []Snapshot
}

// Newest is the index of the newest snapshot of the series, terminating ones
// and all, or -1.
func Newest(snapshots []Snapshot, now time.Time) int {
	newest := -1
	for i := range snapshots {
		if newest < 0 || older(&snapshots[newest], &snapshots[i], now) < 0 {
			newest = i
		}
	}
	return newest
}

// NewestReady is the index of the newest ready snapshot, or -1. Its AgeBase is
// the recovery point of the PVC.
func NewestReady(snapshots []Snapshot, now time.Time) int {
	newest := -1
	for i := range snapshots {
		if snapshots[i].Ready() && (newest < 0 || older(&snapshots[newest], &snapshots[i], now) < 0) {
			newest = i
		}
	}
	return newest
}

// Served reports whether any snapshot has its slot at or after the given one,
// however it fared: a failed one is replaced at the next slot only, and a
// terminating one holds its name until it is gone.
func Served(snapshots []Snapshot, slot, now time.Time) bool {
	for i := range snapshots {
		if !snapshots[i].Slot(now).Before(slot) {
			return true
		}
	}
	return false
}
