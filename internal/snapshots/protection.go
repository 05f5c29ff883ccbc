// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// protection is whether a PVC can be restored to a recent slot.
type protection uint8

const (
	// protectionNone: the PVC is skipped or not selected, and does not count.
	protectionNone protection = iota
	// protectionCurrent: a ready snapshot covers the newest slot, or the one before it.
	protectionCurrent
	// protectionPending: no slot of the schedule is covered yet, and the first has not had readyDeadline time.
	protectionPending
	// protectionOld: there is none.
	protectionOld
)

// protectionOf returns whether a PVC is protected, and until when that cannot change by time alone;
// zero: forever. covered is the newest slot that a ready snapshot covers, of this schedule or of an earlier
// one. The PVC is on the timeline from since; what is older counts by the slots that it would have had before.
func protectionOf(line schedule.Timeline, since, covered time.Time, readyDeadline time.Duration, now time.Time) (protection, time.Time) {
	if !covered.IsZero() {
		earlier := line.Since(covered)
		next, _ := earlier.Next(covered)
		if second, ok := earlier.Next(next); !ok || now.Before(second) {
			return protectionCurrent, second
		}
		if !covered.Before(since) {
			return protectionOld, time.Time{} // its first snapshot was ready: no slot waits for that any more
		}
	}
	first, ok := line.Next(since.Add(-1))
	if until := first.Add(readyDeadline); ok && now.Before(until) {
		return protectionPending, until
	}
	return protectionOld, time.Time{}
}
