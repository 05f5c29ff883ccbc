// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Report is the result of a campaign.
type Report struct {
	Began    time.Time `json:"began"`
	Took     string    `json:"took"`
	Seed     uint64    `json:"seed"`
	Parallel int       `json:"parallel"`
	Rows     []*Row    `json:"classes"`
	// Done counts all plans but those of class reference.
	Done     int       `json:"plans"`
	Failed   int       `json:"failed"`
	Missed   int       `json:"missed"`
	Failures []Failure `json:"failures,omitempty"`
	// MissedPlans are the IDs of plans that did not reach their points.
	MissedPlans []string `json:"missedPlans,omitempty"`
	// Coverage counts what the oracles had to judge.
	Coverage map[string]int `json:"coverage"`
	// ByCache counts, for each guarantee, what only the operator's cache allowed in simulations.
	ByCache map[string]int `json:"byCache"`
}

// Row is the result of a class.
type Row struct {
	Class plan.Class `json:"class"`
	// Enumerated is the number of plans that exist, Plans of those that ran and
	// reached their points.
	Enumerated int `json:"enumerated"`
	Plans      int `json:"plans"`
	Passed     int `json:"passed"`
	Failed     int `json:"failed"`
	// Missed plans did not reach their points, and prove nothing.
	Missed int           `json:"missed"`
	Took   time.Duration `json:"tookNanoseconds"`
}

// Failure is a plan that failed.
type Failure struct {
	Plan       string   `json:"plan"`
	Seed       uint64   `json:"seed"`
	Violations []string `json:"violations"`
	Error      string   `json:"error,omitempty"`
	// Repeat is the command that repeats the plan.
	Repeat string `json:"repeat"`
}

func newReport(o Options) *Report {
	r := &Report{Began: time.Now(), Seed: o.Seed, Parallel: o.Parallel, Coverage: map[string]int{}, ByCache: map[string]int{}}
	for _, class := range slices.Concat([]plan.Class{referenceClass}, plan.Classes, staticClasses) {
		r.Rows = append(r.Rows, &Row{Class: class})
	}
	return r
}

func (r *Report) row(class plan.Class) *Row {
	i := slices.IndexFunc(r.Rows, func(row *Row) bool { return row.Class == class })
	return r.Rows[i]
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
		cover(r.Coverage, res.history)
	}
	if res.Plan.Class != referenceClass {
		r.Done++
	}
	switch {
	case res.failed():
		row.Plans++
		row.Failed++
		r.Failed++
		f := Failure{Plan: res.Plan.ID, Seed: r.Seed, Repeat: repeatCommand(res.Plan, r.Seed)}
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

func (r *Report) finish() { r.Took = time.Since(r.Began).Round(time.Second).String() }

// Ran returns the rows of classes that ran.
func (r *Report) Ran() []*Row {
	return slices.DeleteFunc(slices.Clone(r.Rows), func(row *Row) bool { return row.Plans+row.Missed == 0 })
}

// repeatCommand returns the command that repeats a plan.
func repeatCommand(p plan.Plan, seed uint64) string {
	switch p.Class {
	case referenceClass:
		return fmt.Sprintf("go run ./test/faults --workload %s --class idle", p.Workload)
	case plan.TwoFaults:
		return fmt.Sprintf("make test-faults PLAN='%s' SEED=%d", p.ID, seed)
	}
	return fmt.Sprintf("make test-faults PLAN='%s'", p.ID)
}

// Table returns the report as plain text.
func (r *Report) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CLASS\tPLANS\tPASSED\tFAILED\tMISSED\tOF\tTIME")
	for _, row := range r.Ran() {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\n",
			row.Class, row.Plans, row.Passed, row.Failed, row.Missed, row.Enumerated, row.Took.Round(time.Second))
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(&b, "\n%d plans in %s, %d concurrent, seed %d: %d failed, %d missed\n",
		r.Done, r.Took, r.Parallel, r.Seed, r.Failed, r.Missed)
	if line := r.byCache(); line != "" {
		_, _ = fmt.Fprintln(&b, line)
	}
	return b.String()
}

// byCache says what only the operator's cache allowed, if simulations ran.
func (r *Report) byCache() string {
	if n := r.row(Simulation).Plans; n > 0 {
		return fmt.Sprintf("In %d simulations, only what the operator's cache held allowed %d deletes (S2) and %d creates (S4).",
			n, r.ByCache["S2"], r.ByCache["S4"])
	}
	return ""
}
