// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"strings"
	"time"
)

// Snapshot is what decisions read of one VolumeSnapshot.
type Snapshot struct {
	Name string
	// Created is metadata.creationTimestamp, by the API server's clock.
	Created time.Time
	// ScheduledAt is the scheduled-at annotation, zero if missing or malformed.
	// Decisions use Slot instead.
	ScheduledAt time.Time
	// Rhythm is the slot of an earlier PVC from which the slots of the series went on when
	// the snapshot was taken, zero if they did not.
	Rhythm time.Time
	// HasCutTime reports whether status.creationTime is set. CutTime is its
	// value, which cannot be trusted: drivers report 1970 or next year.
	HasCutTime bool
	CutTime    time.Time
	// ReadyToUse is status.readyToUse; nil counts as false.
	ReadyToUse bool
	// HasError reports whether status.error is set.
	HasError bool
	// ErrorTime is status.error.time, when the error last changed; zero if it is
	// missing.
	ErrorTime time.Time
	// Imported reports whether the snapshot was made from existing data, as a
	// backup tool restores one, and not taken of the PVC.
	Imported bool
	// Deleting reports whether metadata.deletionTimestamp is set.
	Deleting bool
	// HeldUntil is when the hold annotation no longer forbids deleting the snapshot:
	// Forever, or zero if it is not held.
	HeldUntil time.Time
	// Restoring reports whether the snapshot is the source of a PVC that is still
	// Pending.
	Restoring bool
	// VerifiedAt and VerifyFailedAt are when a drill of the snapshot, a restore to try it, last
	// succeeded and failed; zero if the annotation is missing or malformed. Decisions use Drill
	// instead.
	VerifiedAt, VerifyFailedAt time.Time
}

// Forever is when a hold ends whose value is no time. RFC 3339 knows no later year.
var Forever = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// IsReady reports whether the snapshot can be relied on. Only ready snapshots
// count for tiers, cap and floor.
func (s *Snapshot) IsReady() bool { return s.ReadyToUse && !s.Deleting }

// Uncut reports whether the snapshot holds no data yet: the driver may still cut
// it, from whatever the PVC contains by then. A snapshot that is ready without a
// creation time has been cut, and an imported one holds data from the start.
func (s *Snapshot) Uncut() bool { return !s.HasCutTime && !s.ReadyToUse && !s.Imported }

// covers returns the slot that the snapshot covers, zero if it covers none. That
// is Slot, but an imported snapshot without a scheduled-at was taken for no slot.
func (s *Snapshot) covers(now time.Time) time.Time {
	if s.Imported && (s.ScheduledAt.IsZero() || s.ScheduledAt.After(now)) {
		return time.Time{}
	}
	return s.Slot(now)
}

// Slot returns the snapshot's place in its series: its scheduled-at, or its
// creationTimestamp if scheduled-at is missing, malformed or later than now. A
// clock that once ran ahead must not stop backups.
func (s *Snapshot) Slot(now time.Time) time.Time {
	if s.ScheduledAt.IsZero() || s.ScheduledAt.After(now) {
		return s.Created
	}
	return s.ScheduledAt
}

// place returns the time by which calendar tiers assign the snapshot to a period:
// its scheduled-at, because a restore creates many snapshots at once, and because an
// API server whose clock is behind stamps what is taken at midnight with the day
// before. A scheduled-at of a clock that was ahead does not count.
func (s *Snapshot) place(tolerance time.Duration) time.Time {
	if s.ScheduledAt.IsZero() || s.takenAhead(tolerance) {
		return s.Created
	}
	return s.ScheduledAt
}

// takenAhead reports whether scheduled-at is later than the creation by more than the
// tolerance. Most are not later at all, which is cheaper to see.
func (s *Snapshot) takenAhead(tolerance time.Duration) bool {
	return s.ScheduledAt.After(s.Created) && s.ScheduledAt.Sub(s.Created) > tolerance
}

// AgeBase returns the time from which age is measured: the creationTimestamp, or
// the driver's creation time if that is later and not in the future. A wrong
// creation time therefore never makes a snapshot older.
func (s *Snapshot) AgeBase(now time.Time) time.Time {
	if s.HasCutTime && s.CutTime.After(s.Created) && !s.CutTime.After(now) {
		return s.CutTime
	}
	return s.Created
}

// compareAge orders two snapshots of a series, the older first: by slot, then
// creationTimestamp, then name.
func compareAge(a, b *Snapshot, now time.Time) int {
	return cmp.Or(
		a.Slot(now).Compare(b.Slot(now)),
		a.Created.Compare(b.Created),
		strings.Compare(a.Name, b.Name),
	)
}
