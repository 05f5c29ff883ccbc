// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract holds the table of the contract's clauses and the tests that prove them
// (contract.md), and keeps it honest.
package contract

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// clause is an entry of the table.
type clause struct {
	id, words string
	proofs    []proof
	// unproven says why there is no proof.
	unproven string
}

// proof names a test: a folder of the project and what the test is called in it.
type proof struct{ folder, test string }

// table is contract.md.
type table struct {
	clauses []clause
	// unproven are the ids that its last section lists.
	unproven []string
}

var (
	clauseLine = regexp.MustCompile(`^\*\*([A-Z]+-[0-9]+)\*\* (.+)$`)
	proofLine  = regexp.MustCompile("^- `([a-z0-9/]+)` (.+)$")
	noneLine   = regexp.MustCompile(`^- none: (.+)$`)
	idLine     = regexp.MustCompile(`^- ([A-Z]+-[0-9]+)$`)
)

// parse reads the table. What it can't read is returned, line by line.
func parse(text string) (t table, unread []string) {
	_, body, _ := strings.Cut(text, "\n## ")
	for line := range strings.Lines("## " + body) {
		line = strings.TrimSpace(line)
		last := len(t.clauses) - 1
		switch {
		case line == "" || strings.HasPrefix(line, "## "):
		case clauseLine.MatchString(line):
			m := clauseLine.FindStringSubmatch(line)
			t.clauses = append(t.clauses, clause{id: m[1], words: m[2]})
		case proofLine.MatchString(line) && last >= 0:
			m := proofLine.FindStringSubmatch(line)
			t.clauses[last].proofs = append(t.clauses[last].proofs, proof{folder: m[1], test: m[2]})
		case noneLine.MatchString(line) && last >= 0:
			t.clauses[last].unproven = noneLine.FindStringSubmatch(line)[1]
		case idLine.MatchString(line):
			t.unproven = append(t.unproven, idLine.FindStringSubmatch(line)[1])
		default:
			unread = append(unread, line)
		}
	}
	return t, unread
}

func read(t *testing.T) table {
	t.Helper()
	text, err := os.ReadFile("contract.md")
	if err != nil {
		t.Fatal(err)
	}
	all, unread := parse(string(text))
	for _, line := range unread {
		t.Errorf("contract.md has a line that is neither clause nor test: %s", line)
	}
	if len(all.clauses) == 0 {
		t.Fatal("contract.md has no clauses")
	}
	return all
}

func TestIDsAreThereOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range read(t).clauses {
		if seen[c.id] {
			t.Errorf("%s is there twice", c.id)
		}
		seen[c.id] = true
	}
}

func TestEveryClauseIsProven(t *testing.T) {
	all := read(t)
	var unproven []string
	for _, c := range all.clauses {
		switch {
		case c.unproven != "" && len(c.proofs) > 0:
			t.Errorf("%s says that it has no proof, and names one", c.id)
		case c.unproven != "":
			unproven = append(unproven, c.id)
		case len(c.proofs) == 0:
			t.Errorf("%s names no test: %s", c.id, c.words)
		}
		for i, p := range c.proofs {
			if slices.Contains(c.proofs[:i], p) {
				t.Errorf("%s names %s twice", c.id, p.test)
			}
		}
	}
	if !slices.Equal(unproven, all.unproven) {
		t.Errorf("without proof are %v, but the last section lists %v", unproven, all.unproven)
	}
	t.Logf("%d clauses, %d not proven", len(all.clauses), len(unproven))
}

func TestEveryNamedTestExists(t *testing.T) {
	folders := map[string]*sources{}
	for _, c := range read(t).clauses {
		for _, p := range c.proofs {
			if folders[p.folder] == nil {
				s, err := load(p.folder)
				if err != nil {
					t.Fatal(err)
				}
				folders[p.folder] = s
			}
			if err := folders[p.folder].find(p.test); err != nil {
				t.Errorf("%s: %s: %v", c.id, p.folder, err)
			}
		}
	}
}

// A spec that proves no clause is a clause that was forgotten, or a spec too many.
func TestEverySpecProvesAClause(t *testing.T) {
	const folder = "test/integration"
	named := map[string]bool{}
	for _, c := range read(t).clauses {
		for _, p := range c.proofs {
			named[p.test] = named[p.test] || p.folder == folder
		}
	}
	s, err := load(folder)
	if err != nil {
		t.Fatal(err)
	}
	for text := range s.specs {
		if !named[text] {
			t.Errorf("no clause names the spec %q", text)
		}
	}
}

func TestParse(t *testing.T) {
	const text = "# Title\n\nNot a clause.\n\n## A\n\n**A-1** One.\n- `x/y` TestOne/case: `z`, ok\n- `x` says so\n\n**A-2** Two.\n- none: why\n\n## Not proven\n\n- A-2\nrubbish\n"
	got, unread := parse(text)
	if len(got.clauses) != 2 || !slices.Equal(got.clauses[0].proofs, []proof{{"x/y", "TestOne/case: `z`, ok"}, {"x", "says so"}}) ||
		got.clauses[1].unproven != "why" || !slices.Equal(got.unproven, []string{"A-2"}) {
		t.Errorf("got %+v", got)
	}
	if !slices.Equal(unread, []string{"rubbish"}) {
		t.Errorf("unread are %q", unread)
	}
}
