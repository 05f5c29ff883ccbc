// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "time"

// Block is why a snapshot that is due is not taken now.
type Block uint8

const (
	// NotBlocked: nothing is in the way.
	NotBlocked Block = iota
	// BlockedUnderWay: the newest snapshot is under way. An upload that blocks
	// a slot is slow, which is worth telling.
	BlockedUnderWay
	// BlockedUncut: an uncut snapshot exists (failed, held or terminating): a
	// new one is created only once it is gone, so that a driver that is down
	// for a week leaves one, not a pile.
	BlockedUncut
)

var blockNames = [...]string{"NotBlocked", "UnderWay", "Uncut"}

func (b Block) String() string { return blockNames[b] }

// Taking is whether a snapshot is to be taken.
type Taking struct {
	// Due: the slot is not served by any snapshot of the series.
	Due bool
	// Block says what keeps a due snapshot from being taken now.
	Block Block
	// Blocker is the index of the snapshot that blocks, -1 if none does.
	Blocker int
}

// Create reports whether the snapshot is to be created now.
func (t Taking) Create() bool { return t.Due && t.Block == NotBlocked }

// Take decides whether a snapshot is to be taken for a slot: the current slot
// of the PVC, zero if it has none. SlotDue of the series is not looked at; it
// is what Taking.Due is for.
func Take(slot, now time.Time, readyDeadline time.Duration, s Series) Taking {
	t := Taking{Blocker: -1}
	if slot.IsZero() || slot.After(now) || s.Claim != Selected || s.ClaimDeleting || Served(s.Snapshots, slot, now) {
		return t
	}
	t.Due = true

	newest := Newest(s.Snapshots, now)
	if newest >= 0 && s.Snapshots[newest].State(now, readyDeadline) == UnderWay {
		t.Block, t.Blocker = BlockedUnderWay, newest
		return t
	}
	for i := range s.Snapshots {
		if s.Snapshots[i].Uncut() && (t.Blocker < 0 || older(&s.Snapshots[t.Blocker], &s.Snapshots[i], now) < 0) {
			t.Block, t.Blocker = BlockedUncut, i
		}
	}
	return t
}
