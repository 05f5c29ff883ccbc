// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

func TestFlags(t *testing.T) {
	f, err := parseFlags([]string{"--only", "size, fan-out", "--rounds", "2", "-o", "bench", "--env", "A=1", "--env", "B=2"})
	if err != nil || f.size.rounds != 2 || f.size.restart != fullSize.restart || !slices.Equal(f.env, []string{"A=1", "B=2"}) ||
		len(f.only) != 2 || f.only[0].name != "size" || f.only[1].name != "fan-out" {
		t.Errorf("got %+v, %v", f, err)
	}
	if f, err := parseFlags([]string{"--quick"}); err != nil || f.size != quickSize || len(f.only) != len(groups) {
		t.Errorf("got %+v, %v", f, err)
	}
	stderr := os.Stderr
	os.Stderr, _ = os.Open(os.DevNull)
	defer func() { os.Stderr = stderr }()
	for _, args := range [][]string{{"-o", "xml"}, {"fan-out"}, {"--only", "fan"}, {"--rounds", "-1"}, {"--env", "GOGC"}} {
		if f, err := parseFlags(args); err == nil {
			t.Errorf("%v became %+v", args, f)
		}
	}
}

// The machine has half its speed in the second round, and stumbles in the third.
func drifting() *results {
	r := &results{group: "fan-out", config: []benchfmt.Config{{Key: "cores", Value: []byte("2"), File: true}}}
	r.compare("snapshots a second", "/s", []float64{950, 475, 100}, []float64{1000, 500, 1000}).must("≥", 0.9)
	r.compare("CPU", "sec", []float64{320e-6, 640e-6, 200e-6}, []float64{200e-6, 400e-6, 200e-6}).must("≤", 1.5)
	r.add("resident", "B", 118.4e6).must("≤", 120e6)
	r.add("writes", "", 1.001).must("=", 1)
	return r
}

func TestRoundsAreComparedInPairsAndWithTheirTargets(t *testing.T) {
	for i, want := range [][]string{
		{"snapshots a second", "475.0/s (100.0/s–950.0/s)", "1000.0/s (500.0/s–1000.0/s)", "0.95 ×", "≥ 0.9 ×", "yes"},
		{"CPU", "320.0µs (200.0µs–640.0µs)", "200.0µs (200.0µs–400.0µs)", "1.60 ×", "≤ 1.5 ×", "no"},
		{"resident", "118.4MB", "", "", "≤ 120.0MB", "yes"},
		{"writes", "1.001", "", "", "= 1", "no"},
	} {
		if got := drifting().figures[i].cells(); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPageKeepsTheRest(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text, err := os.ReadFile("../../docs/contribute/results.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), begin)
	_, after, _ := strings.Cut(string(text), end)
	for range 2 {
		if err := os.WriteFile(page, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := publish(flags{write: page}, drifting(), &out); err != nil || !strings.Contains(out.String(), "cores 2. Targets missed: 2.") {
			t.Errorf("%v\n%s", err, out.String())
		}
		if text, err = os.ReadFile(page); err != nil || string(text) != before+begin+"\n"+out.String()+end+after {
			t.Errorf("%v\n%s", err, text)
		}
	}
	for _, page := range []string{"", begin, end + begin} {
		if got, err := drifting().intoPage(page); err == nil {
			t.Errorf("%q became %q", page, got)
		}
	}
}

// What users read to size the operator is what was calculated from the last results.
func TestSizingRepeatsTheResults(t *testing.T) {
	cells := func(file, after string, columns ...int) (rows []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), after)
		table, _, _ = strings.Cut(table[strings.Index(table, "\n|")+1:], "\n\n")
		for line := range strings.Lines(table) {
			all := strings.Split(line, "|")
			var row []string
			for _, column := range columns {
				row = append(row, strings.TrimSpace(all[column]))
			}
			rows = append(rows, strings.Join(row, " | "))
		}
		return rows[2:]
	}
	results := cells("../../docs/contribute/results.md", "\n### What clusters need, calculated\n", 1, 3, 5, 6)
	sizing := cells("../../docs/run/sizing.md", "# Sizing\n", 1, 2, 3, 4)
	if len(sizing) < 3 {
		t.Fatalf("found %q", sizing)
	}
	for _, row := range sizing {
		if !slices.Contains(results, row) {
			t.Errorf("docs/run/sizing.md has %q, docs/contribute/results.md has %q", row, results)
		}
	}
}

func TestBenchstatReadsTheValues(t *testing.T) {
	var out strings.Builder
	if err := publish(flags{output: "bench"}, drifting(), &out); err != nil {
		t.Fatal(err)
	}
	units, reader := map[string]int{}, benchfmt.NewReader(strings.NewReader(out.String()), "out")
	for reader.Scan() {
		if r, ok := reader.Result().(*benchfmt.Result); !ok || r.GetConfig("cores") != "2" || strings.Contains(string(r.Name), "bare") && r.Values[0].Unit == "B" {
			t.Errorf("got %+v", reader.Result())
		} else {
			units[r.Values[0].Unit]++
		}
	}
	if units["/s"] != 6 || units["sec"] != 6 || units["B"] != 1 || units["count"] != 1 {
		t.Errorf("%v of\n%s", units, out.String())
	}
}

func TestSizeRowsAndPredictions(t *testing.T) {
	b := &bench{size: size{claims: 1000, snapshotsPerClaim: 40}}
	at := func(claims, snapshots int, heap, resident float64) footprint {
		return footprint{
			claims: claims, snapshots: snapshots, heap: heap, cpu: float64(snapshots) * 100e-6,
			memory: process.Memory{Resident: int64(resident), Peak: int64(resident) + 10e6, Anonymous: int64(resident) - 40e6},
		}
	}
	b.sizeRows([]footprint{
		at(0, 0, 8e6, 60e6), at(1000, 20_000, 30e6, 90e6), at(1000, 40_000, 50e6, 121e6), at(1000, 80_000, 90e6, 200e6),
		at(1000, 100_000, 110e6, 250e6),
	})
	for i, want := range []string{"121.0MB", "1.000kB", "2.000kB"} {
		if got := b.result.figures[i].cells()[1]; got != want {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
	// 8 MB + 2,500 × 2 kB + 100,000 × 1 kB; two bytes of memory for each at the peak, and a quarter more.
	want := []string{"2500", "40", "100000", "113.0MB", "320 MiB", "10 s", "209"}
	if got := b.result.details[1].rows[2]; !slices.Equal(got, want) {
		t.Errorf("a larger cluster: %v, want %v", got, want)
	}
}

func TestRequestTableLeavesOutLeases(t *testing.T) {
	create, lease := audit.Request{Verb: "create", Resource: "volumesnapshots"}, audit.Request{Verb: "update", Resource: "leases"}
	get := audit.Request{Verb: "get", Resource: "snapshotschedules"}
	b := &bench{}
	b.requestTable("x", task{name: "one", requests: audit.Requests{create, create, create, lease}}, task{name: "other", requests: audit.Requests{get}})
	got := b.result.details[0]
	want := [][]string{{"create volumesnapshots", "3", "0"}, {"get snapshotschedules", "0", "1"}}
	if !slices.Equal(got.header, []string{"request", "one", "other"}) || !slices.EqualFunc(got.rows, want, slices.Equal[[]string]) {
		t.Errorf("got %+v", got)
	}
}
