// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"
)

// Class is a row of the campaign's table.
type Class string

// The classes.
const (
	Crash      Class = "crash"
	APIErrors  Class = "api-errors"
	Reads      Class = "reads"
	Watches    Class = "watches"
	TimeTravel Class = "time-travel"
	Managers   Class = "two-managers"
	Clock      Class = "clock"
	Pairs      Class = "two-faults"
	Idle       Class = "idle"
)

// Classes are all, in the order of the table.
var Classes = []Class{Crash, APIErrors, Reads, Watches, TimeTravel, Managers, Clock, Pairs, Idle}

// Deed is what is done at a point.
type Deed string

// Deeds at a write.
const (
	CrashBefore Deed = "before"
	CrashAfter  Deed = "after"
	// Travel is a crash after the write and a restart that is shown the past.
	Travel      Deed = "travel"
	Conflict    Deed = "409"
	TooMany     Deed = "429"
	Internal    Deed = "500"
	Unavailable Deed = "503"
	// TimedOut answers 504 and Lost nothing, both after the write was committed.
	TimedOut    Deed = "timeout-after-commit"
	Lost        Deed = "answer-lost"
	Quota       Deed = "403-quota"
	Terminating Deed = "403-terminating"
)

// Deeds at a list or a live get. Internal is one too.
const (
	Gone Deed = "410"
	// Stale answers with the past.
	Stale Deed = "stale"
	// Empty and Truncated leave out objects, until the operator is made to list
	// again.
	Empty     Deed = "empty"
	Truncated Deed = "truncated"
)

// Deeds at an event of a watch.
const (
	// Drop ends the watch instead of delivering the event.
	Drop Deed = "dropped"
	// DropGone does so and refuses to go on from there, so that the operator has
	// to list again.
	DropGone  Deed = "dropped-410"
	Delay     Deed = "delayed"
	Duplicate Deed = "duplicated"
)

// Fault is one deed at one point.
type Fault struct {
	At Point
	Do Deed
	// Age says how old the past is that Stale and Travel show: 0 is the change
	// before, 1 half of the run so far, 2 before anything.
	Age int
}

// Interleaving is how two managers meet.
type Interleaving string

// The interleavings.
const (
	BothFree   Interleaving = "free"
	LateView   Interleaving = "one-sees-late"
	LateWrites Interleaving = "one-writes-late"
)

// Plan is one run.
type Plan struct {
	// ID names it on the command line: class, workload, points and deeds.
	ID       string
	Class    Class
	Workload string
	Faults   []Fault
	// From, if set, is how old the past is that the operator is shown when it first
	// starts, as Fault.Age.
	From *int
	// HidesUncut tells that an uncut snapshot may be missing in that past.
	HidesUncut bool
	// Two is set if two managers are to run.
	Two Interleaving
	// Lie is set if the Date that the operator is shown is to be wrong.
	Lie *Lie
	// IdleFor is how long the end is watched.
	IdleFor time.Duration
}

// SafetyOnly tells that a plan has answers that no API server gives: lists that leave
// objects out, gets that are old, a start with old lists that hide an uncut snapshot.
// Nothing may be deleted for them, or taken twice, but no one can promise that the end
// is the same.
func (p Plan) SafetyOnly() bool {
	return p.HidesUncut || slices.ContainsFunc(p.Faults, func(f Fault) bool {
		return f.Do == Empty || f.Do == Truncated || f.Do == Stale && f.At.Get()
	})
}

// Lie is a wrong Date.
type Lie struct {
	Name string
	// By is the difference from the truth; At, if not zero, is told instead; None
	// has no Date at all, Garbage one that is not a time.
	By            time.Duration
	At            time.Time
	None, Garbage bool
}
