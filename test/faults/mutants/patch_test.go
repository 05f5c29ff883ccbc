// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

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
