// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package term

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/report/reporttest"
)

// Only styles of this process reach the terminal as they are.
func TestTerminalPassesOwnStylesOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, style := reporttest.Hostile().Draw(t, "text"), Style{color: true}
		var b bytes.Buffer
		Say(Terminal{Writer: &b}, style.Bad(text)+": "+text+style.Bold("end"))
		printed := strings.TrimSuffix(b.String(), "\n")
		begin, rest, ok := strings.Cut(printed, "\x1b[31m")
		if text != "" && (!ok || begin != "") {
			t.Fatalf("%q does not begin red", printed)
		}
		rest = strings.Replace(strings.Replace(rest, "\x1b[0m", "", 1), "\x1b[1mend\x1b[0m", "", 1)
		if why := reporttest.Unsafe(rest); why != "" {
			t.Fatalf("%s: %q", why, printed)
		}
	})
}

// A name in a cell makes no line and no column of its own, and is not endless.
//
// Contract: CLI-1.
func TestCellsKeepToTheirColumns(t *testing.T) {
	for name, cell := range map[string]string{
		"a tab": "db-0\t2m\t5h", "a line break": "db-0\ndb-1", "a form feed": "db-0\fdb-1", "any": reporttest.Nasty, "200 kB": strings.Repeat("x", 200_000),
	} {
		table, b := NewTable("PVC", "READY"), bytes.Buffer{}
		table.Row(cell, "never")
		if err := (&Output{}).PrintTable(Terminal{Writer: &b}, table); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != 2 || strings.Index(lines[0], "READY") != utf8.RuneCountInString(lines[1])-len("never") || len(lines[1]) > 1100 {
			t.Errorf("%s: %.2000q", name, b.String())
		}
	}
}

// A manifest's seconds are no 3.1536e+07.
//
// Contract: CLI-56.
func TestTemplatesKeepIntegers(t *testing.T) {
	value := map[string]any{"items": []map[string]any{{"name": "a", "seconds": 31536000, "ratio": 0.5}}}
	for format, want := range map[string]string{
		"jsonpath={.items[0].seconds}": "31536000", "jsonpath={.items[0].ratio}": "0.5",
		"custom-columns=S:.seconds":                           "S\n31536000\n",
		"go-template={{range .items}}{{.seconds}}{{end}}":     "31536000",
		"go-template={{(index .items 0).none}}":               "<no value>",
		`go-template={{exists . "items" 0 "name"}}`:           "true",
		`go-template={{exists . "items" 1 "name"}}`:           "false",
		`go-template={{exists . "items" 0 "name" "further"}}`: "false",
		`go-template={{base64decode "YQ=="}}`:                 "a",
	} {
		var b bytes.Buffer
		if err := (&Output{Format: format}).PrintStructured(&b, value); err != nil || b.String() != want {
			t.Errorf("%s: %q, want %q: %v", format, b.String(), want, err)
		}
	}
	for _, format := range []string{"go-template={{", "go-template={{index .items 1}}", "jsonpath={", "custom-columns=a"} {
		if err := (&Output{Format: format}).PrintStructured(&bytes.Buffer{}, value); err == nil {
			t.Errorf("%s is no error", format)
		}
	}
}
