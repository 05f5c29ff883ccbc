// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/internal/repo"
)

func loadAll(t *testing.T) []*mutant {
	t.Helper()
	all, err := load("")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A mutant that does not apply or compile proves nothing.
func TestMutantsApplyAndCompile(t *testing.T) {
	root, err := repo.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := checkAll(t.Context(), root, loadAll(t), t.Output()); err != nil {
		t.Fatal(err)
	}
}

// Pages refer to mutants by their numbers.
func TestMutantsHaveNumbersOfTheirOwn(t *testing.T) {
	names := map[string]string{}
	for _, m := range loadAll(t) {
		number, _, _ := strings.Cut(m.Name, "-")
		if other, ok := names[number]; ok {
			t.Errorf("%s and %s have the same number", other, m.Name)
		}
		names[number] = m.Name
	}
}

func TestMutantsBreakEveryGuarantee(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range loadAll(t) {
		broken[m.Guarantees[0]] = true
	}
	for _, g := range []string{"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "L1", "L2", "L3"} {
		if !broken[g] {
			t.Errorf("no mutant breaks %s", g)
		}
	}
}

func TestParseMutantRefuses(t *testing.T) {
	const diff = "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\n+b\n"
	for name, text := range map[string]string{
		"no guarantee":       "it breaks\n" + diff,
		"not a number":       "S1: it breaks\nsimulations: none\n" + diff,
		"no simulations":     "S1: it breaks\nsimulations: 0\n" + diff,
		"another line":       "S1: it breaks\nplans: none\n" + diff,
		"no diff":            "S1: it breaks\nsimulations: 3\n",
		"only the guarantee": "S1: it breaks",
	} {
		t.Run(name, func(t *testing.T) {
			if m, err := parseMutant("00", text); err == nil {
				t.Fatalf("no error, but %+v", m)
			}
		})
	}
}

func TestAMutantIsTriedFirstAgainstTheTestOfTheTable(t *testing.T) {
	text := "| mutant | defect | killed by | test |\n" +
		"| 01-a | a defect | unit | internal/retention TestDecide/keeps_one |\n" +
		"| 02-b | another | integration, simulations | test/integration a SnapshotSchedule [It] keeps (one)<br>test/faults/internal/simulation TestSimulations |\n" +
		"| 03-c | a third | none |  |\n"
	p := page{lines: strings.Split(text, "\n")}
	for name, want := range map[string][]string{
		"01-a": {"./internal/retention", "-run=^TestDecide$/^keeps_one$"},
		"02-b": {"./test/integration", `-ginkgo.focus=a SnapshotSchedule keeps \(one\)`},
	} {
		row := p.row(&mutant{Name: name})
		s := row[0].again()
		if got := []string{s.Packages[0], s.Args[len(s.Args)-1]}; !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		rewritten := page{lines: slices.Clone(p.lines)}
		rewritten.setRow(&mutant{Name: name, Defect: strings.Split(text, " | ")[1]}, row)
		if again := rewritten.row(&mutant{Name: name}); !slices.Equal(again, row) {
			t.Errorf("%s: %q, written and read again %q", name, row, again)
		}
	}
	if kills := p.row(&mutant{Name: "03-c"}); kills != nil {
		t.Errorf("03-c, which none kills: %s", kills)
	}
}

func TestApply(t *testing.T) {
	const diff = "--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -7,1 +7,0 @@\n-g\n"
	for name, test := range map[string]struct{ diff, text, want, err string }{
		"unchanged":           {text: "a\nb\nc\nd\ne\nf\ng\n", want: "a\nB\nc\nd\ne\nf\n"},
		"moved":               {text: "x\nx\ng\na\nb\nc\n", want: "x\nx\na\nB\nc\n"},
		"changed":             {text: "a\nb\nC\ng\n", err: "hunk 1 does not apply"},
		"twice":               {text: "a\nb\nc\na\nb\nc\ng\n", err: "not exactly once"},
		"part of a line":      {text: "aa\nb\nc\ng\n", err: "hunk 1 does not apply"},
		"second hunk changed": {text: "a\nb\nc\n", err: "hunk 2 does not apply"},
		"no context":          {diff: "--- a/x.go\n+++ b/x.go\n@@ -0,0 +1 @@\n+a\n", text: "b\n", err: "hunk 1 does not apply"},
		"no file":             {diff: "@@ -1 +1 @@\n-a\n", err: "want a file first"},
		"no hunk":             {diff: "--- a/x.go\n+++ b/x.go\n-a\n", err: "want a hunk"},
		"a renamed file":      {diff: "--- a/x.go\n+++ b/y.go\n@@ -1 +1 @@\n-a\n", err: "want a hunk"},
		"a line without sign": {diff: "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\nb\n", err: "must start with"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.diff == "" {
				test.diff = diff
			}
			changes, err := parseDiff(test.diff)
			got := ""
			if err == nil {
				got, err = changes[0].apply(test.text)
			}
			if test.err == "" && (err != nil || got != test.want) {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
			if test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}
