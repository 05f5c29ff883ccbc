// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFitLine(t *testing.T) {
	bad := Style{color: true}.Bad
	for name, test := range map[string]struct {
		line  string
		width int
		want  string
	}{
		"no terminal":                         {"  a line that is long", 0, "  a line that is long"},
		"a line of the width":                 {"0123456789", 10, "0123456789"},
		"a longer line":                       {"one two three four", 10, "one two\n  three\n  four"},
		"an indented line":                    {"  one two three four", 12, "  one two\n    three\n    four"},
		"a word that is longer than the line": {"one a-very-long-word two", 8, "one\n  a-very-long-word\n  two"},
		"colors take no place":                {bad("one") + " two " + bad("three"), 13, bad("one") + " two " + bad("three")},
		"spaces that align a line":            {"  ok      one two three", 18, "  ok      one two\n    three"},
		"spaces where a line breaks":          {"one two   three", 9, "one two\n  three"},
		"spaces in a line that fits":          {"  to    every 6h", 20, "  to    every 6h"},
	} {
		if diff := cmp.Diff(test.want, FitLine(test.line, test.width)); diff != "" {
			t.Errorf("%s: (-want +have)\n%s", name, diff)
		}
	}
}

func TestFitTable(t *testing.T) {
	table := NewTable("PVC", "NEXT", "+MAP KEY", "PROBLEM", "+LAST")
	table.Row("data-0", "5h", "key", "")
	table.Row("data-1", "now", "key", "CreateFailed: exceeded quota snapshots")
	table.Row("data-2", "now", "key", "CreateFailed: volumesnapshots.snapshot.storage.k8s.io is forbidden")
	var b bytes.Buffer
	if err := (&Output{}).PrintTable(&b, table); err != nil {
		t.Fatal(err)
	}
	for width, want := range map[int]string{
		40: `
PVC      NEXT   PROBLEM
data-0   5h     <none>
data-1   now    CreateFailed: exceeded
                quota snapshots
data-2   now
    CreateFailed:
    volumesnapshots.snapshot.storage.k8s.io
    is forbidden
`,
		20: `
PVC      NEXT
    PROBLEM
data-0   5h
data-1   now
    CreateFailed:
    exceeded quota
    snapshots
data-2   now
    CreateFailed:
    volumesnapshots.snapshot.storage.k8s.io
    is forbidden
`,
	} {
		if diff := cmp.Diff(want, "\n"+fitTable(b.String(), table.last(false), width)); diff != "" {
			t.Errorf("%d columns (-want +have):\n%s", width, diff)
		}
	}
	if have := fitTable(b.String(), table.last(false), 100); have != strings.ReplaceAll(b.String(), "   \n", "\n") {
		t.Errorf("100 columns:\n%s", have)
	}
	if have := fitTable("", table.last(false), 100); have != "" {
		t.Errorf("without rows: %q", have)
	}
	if last := table.last(true); last != "LAST" {
		t.Errorf("the last column of a wide table is %s", last)
	}
}
