// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// UPDATE_REFERENCE=1 writes the table of the page, for which nothing outside of this package knows the flags.
func TestTheReferenceHasEveryFlagAsItsHelpSaysIt(t *testing.T) {
	const page, begin, end = "../docs/reference/flags.md", "<!-- generated: flags -->\n", "<!-- end of flags -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no table", page)
	}
	set, table := flag.NewFlagSet("", flag.PanicOnError), "| flag | default | meaning |\n| --- | --- | --- |\n"
	parseFlags(set, nil)
	set.VisitAll(func(f *flag.Flag) {
		value := "none"
		if shown := cmp.Or(f.DefValue, f.Value.String()); shown != "" {
			value = "`" + shown + "`"
		}
		_, usage := flag.UnquoteUsage(f)
		table += fmt.Sprintf("| `--%s` | %s | %s |\n", f.Name, value, strings.ReplaceAll(usage, "|", `\|`))
	})
	want := before + begin + "\n" + table + "\n" + end + after
	if os.Getenv("UPDATE_REFERENCE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is out of date, run make docs: the table should be\n%s", page, table)
	}
}
