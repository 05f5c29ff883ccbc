// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestReportFails(t *testing.T) {
	caught := &score{Mutant: "01", Falls: []string{"S5"}, Guarantee: "S5", By: "reference:expiry:0", Caught: true}
	for name, test := range map[string]struct {
		report report
		want   string
	}{
		"all caught":     {report: report{Clean: &score{Runs: 3}, Mutants: []*score{caught}}},
		"one survived":   {report: report{Mutants: []*score{caught, {Mutant: "02"}}}, want: "1 of 2 mutants survived"},
		"a false alarm":  {report: report{Clean: &score{By: "seed 3", Guarantee: "S2"}, Mutants: []*score{caught}}, want: "FALSE ALARM"},
		"nothing judged": {report: report{Clean: &score{Error: "no plan came to its point"}, Mutants: []*score{caught}}, want: "no plan"},
	} {
		t.Run(name, func(t *testing.T) {
			test.report.finish()
			err := test.report.err()
			switch {
			case test.want == "" && err != nil:
				t.Fatal(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Fatalf("the error is %v; it should say %q", err, test.want)
			}
		})
	}
}

func TestSectionStaysInItsPlace(t *testing.T) {
	section := func(text string) string { return sectionBegins + "\n" + text + "\n" + sectionEnds + "\n" }
	page := withSection("# Page\n\nfirst\n", section("old"))
	if want := "# Page\n\nfirst\n\n" + section("old"); page != want {
		t.Fatalf("%q; it should be %q", page, want)
	}
	page = withSection(page+"\nlast\n", section("new"))
	if want := "# Page\n\nfirst\n\n" + section("new") + "\nlast\n"; page != want {
		t.Fatalf("%q; it should be %q", page, want)
	}
	if got := withSection("", section("new")); got != section("new") {
		t.Fatalf("%q; it should be the section alone", got)
	}
}
