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

// The table is written by hand nowhere: what this test prints is what belongs there.
func TestTheReferenceHasEveryFlagAsItsHelpSaysIt(t *testing.T) {
	page, err := os.ReadFile("../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## Flags of the manager\n")
	if !found {
		t.Fatal("docs/reference.md has no section about flags")
	}
	set, want := flag.NewFlagSet("", flag.PanicOnError), []string{}
	parseFlags(set, nil)
	set.VisitAll(func(f *flag.Flag) {
		value := "none"
		if shown := cmp.Or(f.DefValue, f.Value.String()); shown != "" {
			value = "`" + shown + "`"
		}
		_, usage := flag.UnquoteUsage(f)
		want = append(want, fmt.Sprintf("| `--%s` | %s | %s |", f.Name, value, strings.ReplaceAll(usage, "|", `\|`)))
	})
	var has []string
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| `--") {
			has = append(has, strings.TrimSuffix(line, "\n"))
		}
	}
	if table := strings.Join(want, "\n"); strings.Join(has, "\n") != table {
		t.Errorf("the table of flags in docs/reference.md should be\n%s", table)
	}
}
