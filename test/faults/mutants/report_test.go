// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestReportFails(t *testing.T) {
	v := violation{By: "reference:expiry:0", Guarantee: "S5"}
	caught := &outcome{Mutant: "01", Guarantees: []string{"S5"}, violation: v, Caught: true}
	for name, test := range map[string]struct {
		report report
		want   string
	}{
		"all caught":     {report: report{Baseline: &outcome{Runs: 3}, Mutants: []*outcome{caught}}},
		"one survived":   {report: report{Mutants: []*outcome{caught, {Mutant: "02"}}}, want: "1 of 2 mutants survived"},
		"a false alarm":  {report: report{Baseline: &outcome{violation: v}, Mutants: []*outcome{caught}}, want: "FALSE ALARM"},
		"nothing judged": {report: report{Baseline: &outcome{Error: "no plan"}, Mutants: []*outcome{caught}}, want: "no plan"},
	} {
		t.Run(name, func(t *testing.T) {
			test.report.finish()
			err := test.report.err()
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("error %v, want %q", err, test.want)
			}
		})
	}
}
