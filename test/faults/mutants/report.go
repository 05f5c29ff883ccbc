// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/campaign"
)

// report is the result for all mutants.
type report struct {
	Began time.Time `json:"began"`
	Took  string    `json:"took"`
	// Baseline is the product as it is; nil if that was skipped.
	Baseline *outcome   `json:"baseline,omitempty"`
	Mutants  []*outcome `json:"mutants"`
	Survived int        `json:"survived"`
}

func newReport() *report { return &report{Began: time.Now()} }

func (r *report) finish() {
	r.Took = time.Since(r.Began).Round(time.Second).String()
	for _, o := range r.Mutants {
		if !o.Caught {
			r.Survived++
		}
	}
}

// err returns why the report is a failure; nil if it is none.
func (r *report) err() error {
	var errs []error
	if b := r.Baseline; b != nil && (b.By != "" || b.Error != "") {
		errs = append(errs, errors.New("the product without mutants failed: "+b.verdict()))
	}
	if r.Survived > 0 {
		errs = append(errs, fmt.Errorf("%d of %d mutants survived", r.Survived, len(r.Mutants)))
	}
	return errors.Join(errs...)
}

func (o *outcome) verdict() string {
	in := fmt.Sprintf("%d runs, %.0f s", o.Runs, o.Seconds)
	switch {
	case o.Error != "":
		return fmt.Sprintf("cannot be judged (%s): %s", in, o.Error)
	case o.Mutant == "" && o.By == "":
		return "no violation in " + in
	case o.Mutant == "":
		return fmt.Sprintf("FALSE ALARM (%s): %s violated in %s: %s", in, o.Guarantee, o.By, o.Message)
	case o.By == "":
		return "SURVIVED " + in
	case !o.Caught:
		return fmt.Sprintf("SURVIVED (%s): %s violated %s, which this mutant must not: %s", in, o.By, o.Guarantee, o.Message)
	}
	return fmt.Sprintf("caught (%s): %s violated in %s: %s", in, o.Guarantee, o.By, o.Message)
}

// table returns the report as plain text.
func (r *report) table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "MUTANT\tCAUGHT\tBY\tPLAN OR SEED\tRUNS\tSECONDS\tBUILD")
	for _, o := range r.Mutants {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%.0f\t%.0f\n",
			o.Mutant, map[bool]string{true: "yes", false: "NO"}[o.Caught], o.Guarantee, o.By, o.Runs, o.Seconds, o.Build)
	}
	_ = w.Flush()
	_, _ = fmt.Fprintf(&b, "\n%d mutants in %s: %d caught, %d survived\n", len(r.Mutants), r.Took, len(r.Mutants)-r.Survived, r.Survived)
	if r.Baseline != nil {
		_, _ = fmt.Fprintf(&b, "Product without mutants, same plans and seeds: %s\n", r.Baseline.verdict())
	}
	return b.String()
}

// markdown returns the report as a section of a page.
func (r *report) markdown(root string) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	line("## The last run of the mutants\n")
	line("%s, commit %s: **%d mutants, %d survived**, in %s on %d cores.",
		r.Began.UTC().Format("2006-01-02"), campaign.Commit(root), len(r.Mutants), r.Survived, r.Took, runtime.NumCPU())
	if r.Baseline != nil {
		line("The product without mutants: %s.", r.Baseline.verdict())
	}
	line("\n| mutant | defect | caught by | plan or seed | runs |\n| --- | --- | --- | --- | ---: |")
	for _, o := range r.Mutants {
		guarantee := o.Guarantee
		if !o.Caught {
			guarantee = "**survived**"
		}
		line("| %s | %s | %s | `%s` | %d |", o.Mutant, o.Defect, guarantee, o.By, o.Runs)
	}
	return b.String()
}
