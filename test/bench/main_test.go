// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

func TestFlagsSetTheSize(t *testing.T) {
	f, err := parseFlags([]string{"--only", "fan-out", "--pvcs", "7", "--rounds", "2", "-o", "json", "--env", "A=1", "--env", "B=2"})
	if err != nil {
		t.Fatal(err)
	}
	if s := f.size(); s.claims != 7 || s.rounds != 2 || s.restart != fullSize.restart {
		t.Errorf("got %+v", s)
	}
	if !slices.Equal(f.env, []string{"A=1", "B=2"}) {
		t.Errorf("got variables %v", f.env)
	}
	if s := (flags{quick: true}).size(); s != quickSize {
		t.Errorf("quick: got %+v", s)
	}
	if s := (flags{}).size(); s != fullSize {
		t.Errorf("without flags: got %+v", s)
	}
}

func TestInvalidFlagsAreRefused(t *testing.T) {
	stderr := os.Stderr
	os.Stderr, _ = os.Open(os.DevNull)
	defer func() { os.Stderr = stderr }()
	for _, args := range [][]string{{"-o", "xml"}, {"fan-out"}, {"--pvcs", "-1"}, {"--rounds", "-1"}, {"--nothing"}, {"--env", "GOGC"}} {
		if f, err := parseFlags(args); err == nil {
			t.Errorf("%v became %+v", args, f)
		}
	}
}

func TestChooseByName(t *testing.T) {
	all, err := choose("")
	if err != nil || len(all) != len(groups)-2 || slices.ContainsFunc(all, func(g group) bool { return g.name == "million" || g.name == "storm" }) {
		t.Errorf("without names: %d groups, %v", len(all), err)
	}
	some, err := choose("size, million")
	if err != nil || len(some) != 2 || some[0].name != "size" || some[1].name != "million" {
		t.Errorf("got %v, %v", some, err)
	}
	if _, err := choose("size,x"); err == nil || !strings.Contains(err.Error(), "expiry") {
		t.Errorf("an unknown name: %v; the error should list the names", err)
	}
}

func TestGroupNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range groups {
		if g.name == "" || g.about == "" || g.run == nil || seen[g.name] {
			t.Errorf("group %+v", g.name)
		}
		seen[g.name] = true
	}
}

// Requests are counted with the audit log, and speeds are compared without.
func TestSpeedsAreComparedWithoutAuditLog(t *testing.T) {
	for _, g := range groups {
		compared := slices.Contains([]string{"fan-out", "size", "million"}, g.name)
		if compared && g.audit {
			t.Errorf("%s compares speeds on an API server that logs requests", g.name)
		}
	}
}

func TestPublishWritesPageAndTable(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	r := report.Result{Settings: "all", Rows: []report.Row{report.Row{What: "speed", Measured: "1/s"}.AtLeast(1, 2, "2/s")}}
	if err := publish(flags{write: page, output: "table"}, r, io.Discard); err == nil {
		t.Error("no error for a missing page")
	}
	empty, err := report.IntoPage(pageMarkers(t), report.Result{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte(empty), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := publish(flags{write: page, output: "json"}, r, &out); err != nil {
		t.Fatal(err)
	}
	var got report.Result
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Rows) != 1 || got.Rows[0].Met != report.No {
		t.Errorf("got %+v, %v", got, err)
	}
	written, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(written), "| speed | 1/s |  |  | ≥ 2/s | no |") {
		t.Errorf("the page: %v\n%s", err, written)
	}
	out.Reset()
	if err := publish(flags{output: "table"}, r, &out); err != nil || !strings.Contains(out.String(), "1 targets were not met") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// pageMarkers returns docs/performance.md.
func pageMarkers(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
