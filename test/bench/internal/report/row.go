// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "fmt"

// Row is one figure and what it is compared with.
type Row struct {
	// Group is the group of the row, as in --only.
	Group string `json:"group"`
	What  string `json:"what"`
	// Measured, Limit, Ratio and Target are formatted, with units. Limit is the bare client's figure, if any.
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

// AtMost sets a target that the value must not exceed.
func (r Row) AtMost(value, target float64, text string) Row {
	r.Target, r.Met = "≤ "+text, metIf(value <= target)
	return r
}

// Exactly sets a target that the value must equal.
func (r Row) Exactly(value, target float64, text string) Row {
	r.Target, r.Met = text, metIf(value == target)
	return r
}

// Result is the result of a run of the benchmarks.
type Result struct {
	Machine Machine `json:"machine"`
	// Settings describe the run, such as the number of PVCs.
	Settings string  `json:"settings"`
	Rows     []Row   `json:"rows"`
	Details  []Table `json:"details"`
}

// Missed counts the targets that were missed.
func (r Result) Missed() int {
	n := 0
	for _, row := range r.Rows {
		if row.Met == No {
			n++
		}
	}
	return n
}

// Table returns the rows as a table.
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

// Bytes formats a size as MB or kB, of 1,000 bytes, like the targets.
func Bytes(n float64) string {
	switch {
	case n >= 10e6 || n <= -10e6:
		return fmt.Sprintf("%.0f MB", n/1e6)
	case n >= 1e6 || n <= -1e6:
		return fmt.Sprintf("%.1f MB", n/1e6)
	}
	return fmt.Sprintf("%.2f kB", n/1e3)
}
