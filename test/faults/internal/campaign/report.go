// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Report is what a campaign has found.
type Report struct {
	Began    time.Time `json:"began"`
	Took     string    `json:"took"`
	Seed     uint64    `json:"seed"`
	Parallel int       `json:"parallel"`
	Rows     []*Row    `json:"classes"`
	Done     int       `json:"plans"`
	Failed   int       `json:"failed"`
	Missed   int       `json:"missed"`
	Failures []Failure `json:"failures,omitempty"`
	// MissedPlans never came to their points.
	MissedPlans []string `json:"missedPlans,omitempty"`
	// Seen counts what there was to judge.
	Seen map[string]int `json:"seen"`
}

// Row is a class.
type Row struct {
	Class string `json:"class"`
	// Enumerated is how many plans there are, Plans how many were run and met their
	// points.
	Enumerated int `json:"enumerated"`
	Plans      int `json:"plans"`
	Passed     int `json:"passed"`
	Failed     int `json:"failed"`
	// Missed plans never came to a point of theirs, and prove nothing.
	Missed int           `json:"missed"`
	Took   time.Duration `json:"tookNanoseconds"`
}

// Failure is a plan that was failed.
type Failure struct {
	Plan       string   `json:"plan"`
	Seed       uint64   `json:"seed"`
	Violations []string `json:"violations"`
	Error      string   `json:"error,omitempty"`
	Again      string   `json:"again"`
}

func newReport(o Options) *Report {
	r := &Report{Began: time.Now(), Seed: o.Seed, Parallel: o.Parallel, Seen: map[string]int{}, Rows: []*Row{{Class: "reference"}}}
	for _, class := range plan.Classes {
		r.Rows = append(r.Rows, &Row{Class: string(class)})
	}
	return r
}

func (r *Report) row(class plan.Class) *Row {
	for _, row := range r.Rows {
		if row.Class == string(class) {
			return row
		}
	}
	panic("no class " + class)
}

func (r *Report) enumerated(all []plan.Plan) {
	for _, p := range all {
		r.row(p.Class).Enumerated++
	}
}

func (r *Report) add(res result) {
	row := r.row(res.Plan.Class)
	row.Took += res.Took
	if res.history != nil {
		count(r.Seen, res.history)
	}
	if res.Plan.Class != "reference" {
		r.Done++
	}
	switch {
	case res.failed():
		row.Plans++
		row.Failed++
		r.Failed++
		f := Failure{Plan: res.Plan.ID, Seed: r.Seed, Again: again(res.Plan, r.Seed)}
		for _, v := range res.Violations {
			f.Violations = append(f.Violations, v.Oracle+": "+v.Message)
		}
		if res.Err != nil {
			f.Error = res.Err.Error()
		}
		r.Failures = append(r.Failures, f)
	case len(res.Missed) > 0:
		row.Missed++
		r.Missed++
		r.MissedPlans = append(r.MissedPlans, res.Plan.ID)
	default:
		row.Plans++
		row.Passed++
	}
}

func (r *Report) finish() {
	r.Took = time.Since(r.Began).Round(time.Second).String()
	rows := r.Rows[:0]
	for _, row := range r.Rows {
		if row.Plans+row.Missed > 0 {
			rows = append(rows, row)
		}
	}
	r.Rows = rows
}

// again is the command that runs a plan alone.
func again(p plan.Plan, seed uint64) string {
	if p.Class == "reference" {
		return fmt.Sprintf("go run ./test/faults --workload %s --class idle", p.Workload)
	}
	return fmt.Sprintf("make test-faults PLAN='%s' SEED=%d", p.ID, seed)
}

// Table is the report for people.
func (r *Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CLASS\tPLANS\tPASSED\tFAILED\tMISSED\tOF\tTIME")
	for _, row := range r.Rows {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
			row.Class, row.Plans, row.Passed, row.Failed, row.Missed, row.Enumerated, row.Took.Round(time.Second))
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(&b, "\n%d plans in %s, %d at once, seed %d: %d failed, %d missed their point\n",
		r.Done, r.Took, r.Parallel, r.Seed, r.Failed, r.Missed)
	return b.String()
}
