// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"maps"
	"slices"
)

// L1: once faults have stopped, the end state equals that of the run without
// faults, but for slots that the faults let pass; and status says what there is.
func L1(reference, got EndState) []Violation {
	var found []Violation
	tell := func(format string, args ...any) {
		found = append(found, Violation{Oracle: "L1", Change: -1, Request: -1, Message: fmt.Sprintf(format, args...)})
	}
	for _, wrong := range got.Wrong {
		tell("%s", wrong)
	}
	compare := func(what string, want, have []string, missed int) {
		extra, lacking := difference(have, want), difference(want, have)
		for _, fact := range extra {
			tell("%s: %q, which the run without faults does not have", what, fact)
		}
		if len(lacking) <= missed {
			return
		}
		for _, fact := range lacking {
			tell("%s: %q is missing, which the run without faults has", what, fact)
		}
	}
	for _, name := range keys(reference.Schedules, got.Schedules) {
		want, existed := reference.Schedules[name]
		have, exists := got.Schedules[name]
		if existed != exists {
			tell("SnapshotSchedule %s: exists is %t, and %t in the run without faults", name, exists, existed)
			continue
		}
		compare("SnapshotSchedule "+name, want, have, 0)
	}
	for _, name := range keys(reference.Series, got.Series) {
		compare("the series "+name, reference.Series[name], got.Series[name], got.Missed[name])
	}
	compare("the snapshots of no schedule", reference.Others, got.Others, 0)
	return found
}

func keys(a, b map[string][]string) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// difference is what the first has more often than the second.
func difference(a, b []string) []string {
	count := map[string]int{}
	for _, s := range b {
		count[s]++
	}
	var more []string
	for _, s := range a {
		if count[s]--; count[s] < 0 {
			more = append(more, s)
		}
	}
	return more
}
