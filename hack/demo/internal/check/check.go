// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package check says whether what was seen is what the product promises. Its
// functions are pure: what they judge, time included, is given to them.
package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// Result is the outcome of a check.
type Result struct {
	// Name is one word for programs.
	Name string `json:"name"`
	// Expected is what should be true, Seen what is.
	Expected string `json:"expected"`
	Seen     string `json:"seen"`
	OK       bool   `json:"ok"`
}

// Terms are what the schedule of the demo says.
type Terms struct {
	Interval, TTL time.Duration
	// ScheduleUID and ScheduleCreated are the schedule's own.
	ScheduleUID     string
	ScheduleCreated time.Time
	// Selected are the names of the PVCs that the selector matches.
	Selected []string
}

// Grace is how long after its time something may happen: the operator has to
// notice, the API server to answer and the storage to work, on a machine that
// may be busy.
const Grace = 15 * time.Second

// faults collects what is wrong, and makes a result of it.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// result is good if nothing is wrong; then good is what was seen.
func (f *faults) result(name, expected, good string) Result {
	if len(*f) == 0 {
		return Result{Name: name, Expected: expected, Seen: good, OK: true}
	}
	const most = 3
	shown := (*f)[:min(most, len(*f))]
	seen := strings.Join(shown, "; ")
	if more := len(*f) - len(shown); more > 0 {
		seen += fmt.Sprintf("; and %d more", more)
	}
	return Result{Name: name, Expected: expected, Seen: seen}
}

// Bound: these PVCs, and no others, are there and bound.
func Bound(w record.World, names ...string) Result {
	var wrong faults
	for _, name := range names {
		switch c := w.Claim(name); {
		case c == nil || !c.Gone.IsZero():
			wrong.add("%s is not there", name)
		case !c.Bound:
			wrong.add("%s is not bound", name)
		}
	}
	for _, c := range w.Claims {
		if c.Gone.IsZero() && !slices.Contains(names, c.Name) {
			wrong.add("%s should not be there", c.Name)
		}
	}
	expected := fmt.Sprintf("%d PVCs are bound", len(names))
	return wrong.result("claims-bound", expected, strings.Join(names, ", "))
}

// Empty: no snapshot is left, nor what stands for it in the storage.
func Empty(w record.World) Result {
	var wrong faults
	if left := len(w.Left()); left > 0 {
		wrong.add("%d VolumeSnapshots are left", left)
	}
	if w.Contents > 0 {
		wrong.add("%d VolumeSnapshotContents are left", w.Contents)
	}
	return wrong.result("bucket-empty", "no VolumeSnapshot and no VolumeSnapshotContent is left", fmt.Sprintf("of %d", len(w.Snapshots)))
}

// clock writes a time as people read it off a clock.
func clock(t time.Time) string {
	if t.IsZero() {
		return "(none)"
	}
	return t.UTC().Format("15:04:05")
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%gs", d.Round(100*time.Millisecond).Seconds())
}
