// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// Row is one figure beside what it is compared with.
type Row struct {
	// Group is what was run, as --only names it.
	Group string `json:"group"`
	What  string `json:"what"`
	// Measured, Limit, Ratio and Target are as they are read, with their units. Limit is what a
	// bare client reached, where there is one to compare with.
	Measured string `json:"measured"`
	Limit    string `json:"limit,omitempty"`
	Ratio    string `json:"ratio,omitempty"`
	Target   string `json:"target,omitempty"`
	Met      Met    `json:"met,omitempty"`
	// Values are the figures themselves, by name and unit.
	Values map[string]float64 `json:"values,omitempty"`
}

// Met says whether a target was reached.
type Met string

// Without a target a row is for information only.
const (
	Yes Met = "yes"
	No  Met = "no"
)

func metIf(ok bool) Met {
	if ok {
		return Yes
	}
	return No
}

// AtLeast sets a target that the value must reach.
func (r Row) AtLeast(value, target float64, text string) Row {
	r.Target, r.Met = "≥ "+text, metIf(value >= target)
	return r
}

// AtMost sets a target that the value must not pass.
func (r Row) AtMost(value, target float64, text string) Row {
	r.Target, r.Met = "≤ "+text, metIf(value <= target)
	return r
}

// Exactly sets a target that the value must hit.
func (r Row) Exactly(value, target float64, text string) Row {
	r.Target, r.Met = text, metIf(value == target)
	return r
}

// Result is what a run of the benchmarks has found.
type Result struct {
	Machine Machine `json:"machine"`
	// Settings are what the run was told, such as how many PVCs.
	Settings string  `json:"settings"`
	Rows     []Row   `json:"rows"`
	Details  []Table `json:"details"`
}

// Missed counts the targets that were not reached.
func (r Result) Missed() int {
	n := 0
	for _, row := range r.Rows {
		if row.Met == No {
			n++
		}
	}
	return n
}

// Table is the rows' table.
func (r Result) Table() Table {
	t := Table{
		Title:  "Results",
		Header: []string{"what", "measured", "bare client", "ratio", "target", "met"},
	}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []string{row.What, row.Measured, row.Limit, row.Ratio, row.Target, string(row.Met)})
	}
	return t
}

// Bytes writes a size as MB or kB of 1,000, the way the targets are told.
func Bytes(n float64) string {
	switch {
	case n >= 10e6 || n <= -10e6:
		return fmt.Sprintf("%.0f MB", n/1e6)
	case n >= 1e6 || n <= -1e6:
		return fmt.Sprintf("%.1f MB", n/1e6)
	}
	return fmt.Sprintf("%.2f kB", n/1e3)
}
