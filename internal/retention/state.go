// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "time"

// State is how far a snapshot has come.
type State uint8

const (
	// Ready: it can be restored from.
	Ready State = iota
	// InProgress: not ready, and either uncut and younger than readyDeadline, or
	// cut and without an error, because an upload may take as long as it needs. A
	// snapshot that was ready and lost it without an error looks the same; Decide
	// distinguishes the two by the snapshots that followed.
	InProgress
	// Retrying: cut, in error, and younger than readyDeadline, or imported and not
	// ready. It is not in progress, so it blocks nothing and is not held, and it
	// has not failed, so it is not reported: drivers report errors that pass.
	Retrying
	// Failed: uncut, or cut and in error, and not younger than readyDeadline.
	Failed
	// Terminating: being deleted, whatever its state before. It is neither in
	// progress nor failed and counts for nothing, but it blocks the next
	// snapshot if it is uncut.
	Terminating
)

var stateNames = [...]string{"Ready", "InProgress", "Retrying", "Failed", "Terminating"}

func (s State) String() string { return stateNames[s] }

// State returns the state of the snapshot at now. The readyDeadline counts from
// its creationTimestamp.
func (s *Snapshot) State(now time.Time, readyDeadline time.Duration) State {
	young := now.Before(s.Created.Add(readyDeadline))
	switch {
	case s.Deleting:
		return Terminating
	case s.ReadyToUse:
		return Ready
	case s.Imported:
		return Retrying
	case s.Uncut() && young, !s.Uncut() && !s.HasError:
		return InProgress
	case young:
		return Retrying
	default:
		return Failed
	}
}
