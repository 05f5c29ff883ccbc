// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// checks are what is examined, in this order.
var checks = []struct {
	name  string
	check func(*seen) found
}{
	{"CustomResourceDefinitions", checkDefinitions},
	{"Names", checkNames},
	{"Snapshot controller", checkController},
	{"Drivers", checkDrivers},
	{"Operator", checkOperator},
	{"Rights of the operator", checkRights},
	{"Schedules", checkSchedules},
	{"Snapshots", checkSnapshots},
	{"Left behind", checkLeftovers},
}

// examine runs all checks.
func examine(s *seen) []point {
	all := []point{}
	for _, c := range checks {
		for _, p := range c.check(s) {
			p.Check = c.name
			all = append(all, p)
		}
	}
	return all
}

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
	// Fix are the commands that solve a problem, or show more of it, one a line.
	Fix string `json:"fix,omitempty"`
}

// found collects the points of a check.
type found []point

func (f *found) add(state State, fix, format string, args ...any) {
	*f = append(*f, point{State: state, Fix: fix, Message: fmt.Sprintf(format, args...)})
}

func (f *found) ok(format string, args ...any)           { f.add(OK, "", format, args...) }
func (f *found) problem(fix, format string, args ...any) { f.add(Problem, fix, format, args...) }
func (f *found) unknown(fix, format string, args ...any) { f.add(Unknown, fix, format, args...) }

// shown is how many objects of a kind a check names.
const shown = 10

// bounded leaves out what nobody reads, the problems last.
func (f found) bounded(what string) found {
	more := len(f) - shown
	if more < 2 {
		return f
	}
	slices.SortStableFunc(f, func(a, b point) int { return cmp.Compare(b.State, a.State) }) // unknown, problem, ok
	return append(slices.Clip(f[:shown]), point{State: f[shown].State, Message: fmt.Sprintf("%d %s more", more, what)})
}

// command is a command with arguments from the cluster, which may contain anything.
func command(format string, args ...string) string {
	words := make([]any, len(args))
	for i, arg := range args {
		words[i] = term.ShellWord(arg)
	}
	return fmt.Sprintf(format, words...)
}
