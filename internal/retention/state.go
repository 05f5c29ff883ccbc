// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "time"

// State is how far a snapshot has come.
type State uint8

const (
	// Ready: it can be restored from.
	Ready State = iota
	// UnderWay: not ready, and either uncut and younger than readyDeadline, or
	// cut and without an error: an upload may take as long as it needs. One
	// that was ready once and lost it without an error looks the same; Decide
	// tells the two apart by what came after.
	UnderWay
	// Retrying: cut, in error, and younger than readyDeadline. It is not under
	// way, so that it blocks nothing and is held by nothing, and not failed
	// yet, so that nobody is told: drivers report errors that pass.
	Retrying
	// Failed: uncut, or cut and in error, and as old as readyDeadline.
	Failed
	// Terminating: being deleted, however far it had come. It is neither under
	// way nor failed, and counts for nothing; only if it is uncut it blocks.
	Terminating
)

var stateNames = [...]string{"Ready", "UnderWay", "Retrying", "Failed", "Terminating"}

func (s State) String() string { return stateNames[s] }

// State is how far the snapshot has come at now. Its age is measured from its
// creationTimestamp, against readyDeadline.
func (s *Snapshot) State(now time.Time, readyDeadline time.Duration) State {
	young := now.Before(s.Created.Add(readyDeadline))
	switch {
	case s.Deleting:
		return Terminating
	case s.ReadyToUse:
		return Ready
	case s.Uncut() && young, !s.Uncut() && !s.HasError:
		return UnderWay
	case young:
		return Retrying
	default:
		return Failed
	}
}
