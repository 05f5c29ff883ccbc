// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plan enumerates the fault plans of a workload from the trace of its reference run.
//
// The vocabulary: a workload is a scenario that the operator has to handle. Its reference run, without faults, gives a trace: a list of
// points, each a request or a watch event. A fault is an action at a point. A plan is one run of a workload with its faults, and belongs
// to a class.
package plan

import (
	"fmt"
	"slices"
	"time"
)

// Class groups plans of one kind.
type Class string

// The classes of plans.
const (
	Crash       Class = "crash"
	APIErrors   Class = "api-errors"
	Reads       Class = "reads"
	Watches     Class = "watches"
	TimeTravel  Class = "time-travel"
	TwoManagers Class = "two-managers"
	Idle        Class = "idle"
)

// Classes lists them in the order of the table.
var Classes = []Class{Crash, APIErrors, Reads, Watches, TimeTravel, TwoManagers, Idle}

// Action is what the wire does at a point.
type Action string

// Actions at a write.
const (
	CrashBefore Action = "before"
	CrashAfter  Action = "after"
	// Travel crashes after the write; the next process is shown the past.
	Travel      Action = "travel"
	Conflict    Action = "409"
	TooMany     Action = "429"
	Internal    Action = "500"
	Unavailable Action = "503"
	// TimedOut answers 504 and Lost answers nothing, both after the commit.
	TimedOut    Action = "timeout-after-commit"
	Lost        Action = "answer-lost"
	Quota       Action = "403-quota"
	Terminating Action = "403-terminating"
	// Hang never answers.
	Hang Action = "hang"
)

// Actions at a list or a live get, besides Internal and Unavailable.
const (
	Gone Action = "410"
	// Uninstalled answers as if the CRD were not installed.
	Uninstalled Action = "404"
	// Stale answers a list with an earlier state.
	Stale Action = "stale"
)

// Actions at a watch event.
const (
	// Drop ends the watch instead of delivering the event.
	Drop Action = "dropped"
	// DropGone also refuses to resume the watch, so that the operator lists again.
	DropGone  Action = "dropped-410"
	Delay     Action = "delayed"
	Duplicate Action = "duplicated"
)

// ages name the values of Fault.Age.
var ages = []string{"one-change-back", "half-way-back", "before-anything"}

// Fault is one action at one point.
type Fault struct {
	At     Point
	Action Action
	// Age selects the state that Stale and Travel show: 0 is one change back, 1 half of the run so far, 2 before any change.
	Age int
}

// String returns the fault as plan IDs contain it.
func (f Fault) String() string {
	if f.Action == Stale || f.Action == Travel {
		return fmt.Sprintf("%s:%s-%s", f.At, f.Action, ages[f.Age])
	}
	return fmt.Sprintf("%s:%s", f.At, f.Action)
}

// Interleaving says how two active managers differ.
type Interleaving string

// The interleavings.
const (
	BothFree   Interleaving = "free"
	LateView   Interleaving = "one-sees-late"
	LateWrites Interleaving = "one-writes-late"
)

// Plan is one run of a workload with its faults.
type Plan struct {
	// ID names the plan on the command line: class, workload, points and actions.
	ID       string
	Class    Class
	Workload string
	Faults   []Fault
	// StartAge, if set, shows the first process the past, as Fault.Age.
	StartAge *int
	// HidesUncut is set if an uncut snapshot may be missing in that past.
	HidesUncut bool
	// Interleaving, if set, starts two managers.
	Interleaving Interleaving
	// IdleFor is how long the end state is observed.
	IdleFor time.Duration
}

// SafetyOnly reports whether the plan contains answers that no API server gives: lists at a start that hide an uncut snapshot. The
// operator must stay safe, but its end state may differ.
func (p Plan) SafetyOnly() bool { return p.HidesUncut }

// ShowsEverything reports whether one operator at a time is shown all that exists when it starts. What it does not know is in flight it
// cannot count.
func (p Plan) ShowsEverything() bool { return !p.ShowsPast() && p.Interleaving == "" }

// ShowsPast reports whether an operator is shown what was before.
func (p Plan) ShowsPast() bool {
	return p.StartAge != nil || slices.ContainsFunc(p.Faults, func(f Fault) bool {
		return f.Action == Travel || f.Action == Stale
	})
}
