// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
)

var sample = Table{
	Title:  "Results",
	Header: []string{"what", "ratio"},
	Rows:   [][]string{{"creates a second", "97 %"}, {"a|b ≥", ""}},
}

func TestWrite(t *testing.T) {
	var out strings.Builder
	if err := sample.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"Results", "",
		"what              ratio",
		"────────────────  ─────",
		"creates a second  97 %",
		"a|b ≥", "",
	}, "\n")
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	want := "| what | ratio |\n| --- | --- |\n| creates a second | 97 % |\n| a\\|b ≥ |  |\n"
	if got := sample.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
