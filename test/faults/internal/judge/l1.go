// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"
)

// L1: after faults have stopped, the end state equals that of the run without faults, and status is correct.
func L1(reference, got EndState) (found []string) {
	fail := func(format string, args ...any) {
		found = append(found, fmt.Sprintf(format, args...))
	}
	for _, wrong := range got.Wrong {
		fail("%s", wrong)
	}
	compare := func(what string, want, have []string) {
		for _, fact := range difference(have, want) {
			fail("%s: unexpected %q", what, fact)
		}
		for _, fact := range difference(want, have) {
			fail("%s: %q is missing", what, fact)
		}
	}
	for _, name := range keys(reference.Schedules, got.Schedules) {
		want, existed := reference.Schedules[name]
		have, exists := got.Schedules[name]
		if existed != exists {
			fail("SnapshotSchedule %s: exists is %t, want %t", name, exists, existed)
			continue
		}
		compare("SnapshotSchedule "+name, want, have)
	}
	for _, name := range keys(reference.Fleets, got.Fleets) {
		compare("ClusterSnapshotSchedule "+name, reference.Fleets[name], got.Fleets[name])
	}
	for _, name := range keys(reference.Series, got.Series) {
		compare("series "+name, reference.Series[name], got.Series[name])
	}
	compare("snapshots without a schedule", reference.Others, got.Others)
	return found
}

func keys(a, b map[string][]string) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// difference returns what a has more often than b.
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
