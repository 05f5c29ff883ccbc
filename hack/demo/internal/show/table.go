// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/check"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// Marks of single snapshots, the oldest first.
const (
	markReady   = "●"
	markNew     = "○"
	markLeaving = "×"
)

const none = "-"

// columns are the headings; widths, how wide each is at least, so that the
// table does not jump about.
var (
	columns = []string{"PVC", "SNAPSHOTS", "READY", "NEWEST", "NEXT", "STATE", ""}
	widths  = []int{7, 9, 5, 7, 5, 27, 0}
)

// Table is a frame of the live table: one line for each PVC there is or was.
func Table(w record.World, t check.Terms, p Paint) []string {
	rows := [][]string{columns}
	for i := range w.Claims {
		rows = append(rows, row(w, t, &w.Claims[i]))
	}
	lines := align(rows)
	lines[0] = p.Bold(lines[0])
	for i := 1; i < len(lines); i++ {
		lines[i] = p.marks(lines[i])
	}
	return append(lines, p.Faint(legend(w)))
}

func row(w record.World, t check.Terms, c *record.Claim) []string {
	there := w.There(c.Name)
	ready := 0
	var marks strings.Builder
	for i := range there {
		mark := markOf(&there[i])
		marks.WriteString(mark)
		if mark == markReady {
			ready++
		}
	}
	newest := none
	if n := len(there); n > 0 {
		newest = age(w.Now.Sub(there[n-1].Created)) + " old"
	}
	return []string{
		c.Name, fmt.Sprint(len(there)), fmt.Sprint(ready), newest, next(w, t, c), state(t, c, len(there)), marks.String(),
	}
}

func markOf(s *record.Snapshot) string {
	switch {
	case !s.Live():
		return markLeaving
	case s.Ready:
		return markReady
	}
	return markNew
}

// next is the next slot of a PVC, from the schedule's terms.
func next(w record.World, t check.Terms, c *record.Claim) string {
	if w.Schedule == nil || !c.Gone.IsZero() || !slices.Contains(t.Selected, c.Name) {
		return none
	}
	anchor := t.ScheduleCreated
	if c.Created.After(anchor) {
		anchor = c.Created
	}
	past := max(0, w.Now.Sub(anchor))
	return "in " + age(t.Interval-past%t.Interval)
}

func state(t check.Terms, c *record.Claim, snapshots int) string {
	switch {
	case !c.Gone.IsZero() && snapshots > 0:
		return "deleted, snapshots detached"
	case !c.Gone.IsZero():
		return "deleted"
	case !c.Bound:
		return "pending"
	case slices.Contains(t.Selected, c.Name):
		return "bound"
	}
	return "bound, not selected"
}

// legend sums up, and says what the marks mean.
func legend(w record.World) string {
	gone := 0
	for i := range w.Snapshots {
		if !w.Snapshots[i].Gone.IsZero() {
			gone++
		}
	}
	return fmt.Sprintf("%d taken, %d gone;  %s ready  %s new  %s going", len(w.Snapshots), gone, markReady, markNew, markLeaving)
}

func (p Paint) marks(line string) string {
	return strings.NewReplacer(
		markReady, p.Green(markReady), markNew, p.Yellow(markNew), markLeaving, p.Red(markLeaving),
	).Replace(line)
}

// align puts cells under each other.
func align(rows [][]string) []string {
	widths := slices.Clone(widths)
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		var line strings.Builder
		for j, cell := range r {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+3))
		}
		lines[i] = strings.TrimRight(line.String(), " ")
	}
	return lines
}

// age is in whole seconds.
func age(d time.Duration) string {
	return max(0, d).Truncate(time.Second).String()
}
