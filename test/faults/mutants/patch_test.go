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

const diffWithTarget = `--- a/x.go
+++ b/x.go
@@ -2,1 +2,1 @@ func (w *writer) delete(o object) error {
-	b
+	B
`

func TestApply(t *testing.T) {
	for name, test := range map[string]struct{ diff, text, want, err string }{
		"unchanged":               {text: "a\nb\nc\nd\ne\nf\ng\n", want: "a\nB\nc\nd\ne\nf\n"},
		"moved":                   {text: "x\nx\ng\na\nb\nc\n", want: "x\nx\na\nB\nc\n"},
		"changed":                 {text: "a\nb\nC\ng\n", err: "hunk 1 does not apply"},
		"twice":                   {text: "a\nb\nc\na\nb\nc\ng\n", err: "hunk 1 is ambiguous"},
		"part of a line":          {text: "aa\nb\nc\ng\n", err: "hunk 1 does not apply"},
		"second hunk changed":     {text: "a\nb\nc\n", err: "hunk 2 does not apply"},
		"in its target":           {diff: diffWithTarget, text: "func (x writer) delete() {\n\tb\n}\n", want: "func (x writer) delete() {\n\tB\n}\n"},
		"moved to another target": {diff: diffWithTarget, text: "func delete() {\n}\n\nfunc remove() {\n\tb\n}\n", err: `names "func (w *writer) delete`},
		"no context":              {diff: "--- a/x.go\n+++ b/x.go\n@@ -0,0 +1 @@\n+a\n", text: "b\n", err: "needs a line of context"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.diff == "" {
				test.diff = diff
			}
			changes, err := parseDiff(test.diff)
			if err != nil || len(changes) != 1 || changes[0].path != "x.go" {
				t.Fatalf("%+v, %v", changes, err)
			}
			got, err := changes[0].apply(test.text)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("error %v, want %q", err, test.err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Fatalf("%q, %v, want %q", got, err, test.want)
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
