// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const diff = `--- a/x.go
+++ b/x.go
@@ -1,3 +1,3 @@
 a
-b
+B
 c
@@ -7,1 +7,0 @@
-g
`

func TestApply(t *testing.T) {
	for name, test := range map[string]struct{ text, want, err string }{
		"as it was":               {text: "a\nb\nc\nd\ne\nf\ng\n", want: "a\nB\nc\nd\ne\nf\n"},
		"moved":                   {text: "x\nx\ng\na\nb\nc\n", want: "x\nx\na\nB\nc\n"},
		"changed":                 {text: "a\nb\nC\ng\n", err: "hunk 1 no longer applies"},
		"twice":                   {text: "a\nb\nc\na\nb\nc\ng\n", err: "hunk 1 is ambiguous"},
		"a part of a line":        {text: "aa\nb\nc\ng\n", err: "hunk 1 no longer applies"},
		"the second hunk changed": {text: "a\nb\nc\n", err: "hunk 2 no longer applies"},
	} {
		t.Run(name, func(t *testing.T) {
			changes, err := parseDiff(diff)
			if err != nil || len(changes) != 1 || changes[0].path != "x.go" {
				t.Fatalf("%+v, %v", changes, err)
			}
			got, err := changes[0].apply(test.text)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("the error is %v; it should say %q", err, test.err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("%q, %v; it should be %q", got, err, test.want)
			}
		})
	}
}

func TestParseDiffRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             "",
		"no file":             "@@ -1 +1 @@\n-a\n",
		"no hunk":             "--- a/x.go\n+++ b/x.go\n-a\n",
		"a renamed file":      "--- a/x.go\n+++ b/y.go\n@@ -1 +1 @@\n-a\n",
		"a line without sign": "--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-a\nb\n",
	} {
		t.Run(name, func(t *testing.T) {
			if changes, err := parseDiff(text); err == nil {
				t.Fatalf("no error, but %+v", changes)
			}
		})
	}
}

func TestApplyNeedsContext(t *testing.T) {
	changes, err := parseDiff("--- a/x.go\n+++ b/x.go\n@@ -0,0 +1 @@\n+a\n")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := changes[0].apply("b\n"); err == nil {
		t.Fatalf("no error, but %q", text)
	}
}
