// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"strings"
	"time"
)

// Snapshot is what decisions need to know of one VolumeSnapshot.
type Snapshot struct {
	Name string
	// Created is metadata.creationTimestamp, by the API server's clock.
	Created time.Time
	// ScheduledAt is the annotation of that name, zero if missing or malformed.
	// Decisions use Slot, never this.
	ScheduledAt time.Time
	// HasCutTime says that status.creationTime is set, and CutTime is its value
	// then, which may be anything: drivers report 1970 or next year.
	HasCutTime bool
	CutTime    time.Time
	// ReadyToUse is status.readyToUse, nil being false.
	ReadyToUse bool
	// HasError says that status.error is set.
	HasError bool
	// Deleting says that metadata.deletionTimestamp is set.
	Deleting bool
	// Hold is what forbids its deletion from outside, if anything.
	Hold Hold
}

// Hold is what forbids the deletion of a snapshot from outside.
type Hold uint8

const (
	// NotHeld: nothing.
	NotHeld Hold = iota
	// HeldByAnnotation: the snapshot carries the hold annotation.
	HeldByAnnotation
	// HeldByRestore: it is the source of a PVC that is still Pending.
	HeldByRestore
)

// Ready reports whether the snapshot can be relied on: ready to use, and not
// being deleted. Only such snapshots count for tiers, cap and floor.
func (s *Snapshot) Ready() bool { return s.ReadyToUse && !s.Deleting }

// Uncut reports whether the snapshot's data does not exist yet: the driver may
// still cut it, from whatever its PVC then holds. A driver that reports a
// snapshot as ready without a creation time has cut it.
func (s *Snapshot) Uncut() bool { return !s.HasCutTime && !s.ReadyToUse }

// Slot is the slot that the snapshot serves: its scheduled-at. One that is
// missing, malformed or later than now counts as the creationTimestamp: a clock
// that once ran ahead must not stop backups.
func (s *Snapshot) Slot(now time.Time) time.Time {
	if s.ScheduledAt.IsZero() || s.ScheduledAt.After(now) {
		return s.Created
	}
	return s.ScheduledAt
}

// AgeBase is the time from which age is measured: the creationTimestamp, or
// the driver's creation time where that is later and not in the future. So a
// driver that lies never makes a snapshot older.
func (s *Snapshot) AgeBase(now time.Time) time.Time {
	if s.HasCutTime && s.CutTime.After(s.Created) && !s.CutTime.After(now) {
		return s.CutTime
	}
	return s.Created
}

// older orders two snapshots by "newest": scheduled-at, then creationTimestamp,
// then name. It is negative where a is the older one.
func older(a, b *Snapshot, now time.Time) int {
	return cmp.Or(
		a.Slot(now).Compare(b.Slot(now)),
		a.Created.Compare(b.Created),
		strings.Compare(a.Name, b.Name),
	)
}
