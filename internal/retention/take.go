// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

// Take is whether a snapshot is taken for the slot of a series.
type Take struct {
	// Due reports whether the slot needs a snapshot: the PVC is selected and not
	// being deleted, and no snapshot covers the slot.
	Due bool
	// Block is why none would be taken now, even if one is due.
	Block Block
	// Blocker is the index of the snapshot that blocks, -1 if none does.
	Blocker int
}

// Create reports whether the snapshot is created now.
func (t Take) Create() bool { return t.Due && t.Block == NotBlocked }

// Block is why no snapshot is taken now.
type Block uint8

const (
	// NotBlocked: nothing blocks it.
	NotBlocked Block = iota
	// BlockedInProgress: the newest snapshot is in progress.
	BlockedInProgress
	// BlockedUncut: the series contains an uncut snapshot that failed, is being restored from
	// or is terminating. The next one waits until it is gone, so that a driver that is down for
	// a week leaves one uncut snapshot, not many.
	BlockedUncut
)

var blockNames = [...]string{"NotBlocked", "InProgress", "Uncut"}

func (b Block) String() string { return blockNames[b] }

// decideTake decides whether a snapshot is taken for the slot of the series.
func (e *evaluation) decideTake() Take {
	s := &e.series
	take := Take{Blocker: -1}
	take.Due = !s.Slot.IsZero() && !s.Slot.After(e.now) && s.Claim == Selected && !s.ClaimDeleting &&
		!Covered(s.Snapshots, s.Slot, e.now)
	newest := true // of those that were taken: an imported one blocks nothing, and hides nothing that does
	for _, r := range e.order {
		snapshot := &s.Snapshots[r.index]
		switch {
		case snapshot.Imported:
			continue
		case newest && snapshot.State(e.now, e.readyDeadline) == InProgress:
			take.Block, take.Blocker = BlockedInProgress, r.index
			return take
		case snapshot.Uncut():
			take.Block, take.Blocker = BlockedUncut, r.index
			return take
		}
		newest = false
	}
	return take
}
