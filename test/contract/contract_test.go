// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract checks that every clause of contract.md is cited by a test, and that every citation is valid.
package contract

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	clause   = regexp.MustCompile(`(?m)^\*\*([A-Z]+-[0-9]+)\*\* `)
	citation = regexp.MustCompile(`^\s*// Contract: ([A-Z]+-[0-9]+(?:, [A-Z]+-[0-9]+)*)\.$`)
	test     = regexp.MustCompile(`^(?:func Test\w*|\s+(?:It|Specify|Entry|DescribeTable))\(`)
	// mustCite is a test that needs a citation in test/integration. That of a table is that of its entries, too.
	mustCite = regexp.MustCompile(`^\s+(?:It|Specify|Entry)\(`)
	table    = regexp.MustCompile(`^\s+DescribeTable\(`)
	entry    = regexp.MustCompile(`^\s+Entry\(`)
	pending  = regexp.MustCompile(`\b[PX](?:It|Specify|Entry|DescribeTable|Describe|Context|When)\(|\("[^"]*", Pending,`)
)

// citations returns the IDs that a test file cites, the tests without a citation, and the citations that are wrong, as "line: text".
func citations(source string) (ids, uncited, problems []string) {
	lines, inCitedTable := strings.Split(source, "\n"), false
	for i, line := range lines {
		at := fmt.Sprintf("%d: %s", i+1, strings.TrimSpace(line))
		if table.MatchString(line) {
			inCitedTable = citation.MatchString(lines[i-1])
		}
		if mustCite.MatchString(line) && !citation.MatchString(lines[i-1]) && (!entry.MatchString(line) || !inCitedTable) {
			uncited = append(uncited, at)
		}
		if pending.MatchString(line) { // it would not run
			problems = append(problems, at)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "// Contract:") {
			if m := citation.FindStringSubmatch(line); m != nil && test.MatchString(lines[i+1]) {
				ids = append(ids, strings.Split(m[1], ", ")...)
			} else {
				problems = append(problems, at)
			}
		}
	}
	return ids, uncited, problems
}

func TestCitations(t *testing.T) {
	for source, want := range map[string]string{
		"// TestA has a comment.\n//\n// Contract: A-1, B-2.\nfunc TestA(t": "[A-1 B-2] [] []",
		"// Contract: A-1.\nfunc helper(":                                   "[] [] [1: // Contract: A-1.]",
		"func TestA(t\n\t// Contract: A-1.\n\tx = 1":                        "[] [] [2: // Contract: A-1.]",
		"{\n\t// Contract: A-1.\n\tIt(\"cites\", f)":                        "[A-1] [] []",
		"{\n\tIt(\"does not\", f)":                                          "[] [2: It(\"does not\", f)] []",
		"{\n\t// Contract: A-1.\n\n\tDescribeTable(\"is too far\", f)":      "[] [] [2: // Contract: A-1.]",
		"{\n\t// Contract: no clause.\n\tEntry(\"a\")":                      "[] [3: Entry(\"a\")] [2: // Contract: no clause.]",
		"{\n\t// Contract: A-1.\n\tDescribeTable(\"cites\",\n\tEntry(\"a\"),\n\tDescribeTable(\"does not\",\n\tEntry(\"b\"),": "[A-1] [6: Entry(\"b\"),] []",
		"{\n\tPIt(\"a\", f)": "[] [] [2: PIt(\"a\", f)]",
	} {
		ids, uncited, problems := citations(source)
		if got := fmt.Sprint(ids, uncited, problems); got != want {
			t.Errorf("%s\ngot %s, want %s", source, got, want)
		}
	}
}

func TestEveryClauseIsCitedByATest(t *testing.T) {
	text, err := os.ReadFile("contract.md")
	if err != nil {
		t.Fatal(err)
	}
	cited := map[string]bool{}
	for _, m := range clause.FindAllStringSubmatch(string(text), -1) {
		if _, twice := cited[m[1]]; twice {
			t.Errorf("contract.md defines %s twice", m[1])
		}
		cited[m[1]] = false
	}
	if len(cited) < 70 {
		t.Fatalf("contract.md has only %d clauses: it was not parsed correctly", len(cited))
	}
	root := os.DirFS("../..")
	err = fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." {
			_, err := fs.Stat(root, path+"/go.mod") // another module
			if err == nil || slices.Contains([]string{"testdata", "contract"}, entry.Name()) || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(root, path)
		ids, uncited, problems := citations(string(source))
		for _, problem := range problems {
			t.Errorf("%s:%s: a citation has the form // Contract: API-1, MAP-3. directly above a test that runs", path, problem)
		}
		for _, id := range ids {
			if _, known := cited[id]; !known {
				t.Errorf("%s cites %s, which contract.md does not define", path, id)
			}
			cited[id] = true
		}
		for _, spec := range uncited {
			if strings.HasPrefix(path, "test/integration/") {
				t.Errorf("%s:%s cites no clause", path, spec)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, is := range cited {
		if !is {
			t.Errorf("no test cites %s", id)
		}
	}
}
