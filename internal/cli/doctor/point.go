// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import "fmt"

// State is how it is about a point.
type State string

// The states of a point. Unknown is what the user may not read, or what nothing shows yet.
const (
	OK      State = "ok"
	Problem State = "problem"
	Unknown State = "unknown"
)

// point is what a check has found about one thing.
type point struct {
	Check   string `json:"check"`
	State   State  `json:"state"`
	Message string `json:"message"`
	// Fix is the command that solves a problem, or shows more of it, unless the message has it.
	Fix string `json:"fix,omitempty"`
}

// found collects the points of a check.
type found []point

func (f *found) add(state State, fix, format string, args ...any) {
	*f = append(*f, point{State: state, Fix: fix, Message: fmt.Sprintf(format, args...)})
}

func (f *found) ok(format string, args ...any)              { f.add(OK, "", format, args...) }
func (f *found) problem(fix, format string, args ...any)    { f.add(Problem, fix, format, args...) }
func (f *found) unknown(reason, format string, args ...any) { f.add(Unknown, reason, format, args...) }
