// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/storm"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

func TestFanOutRowsCompareWithinRounds(t *testing.T) {
	b := &bench{size: size{claims: 1000}}
	at := func(rate float64, cpu time.Duration) burst {
		return burst{rate: rate, cpu: cpu, server: time.Millisecond, first: time.Millisecond}
	}
	const bareCPU = 200 * time.Microsecond
	// The machine has half its speed in the second round: bursts of the same round are compared.
	b.fanOutRows(
		[]burst{at(1000, bareCPU), at(500, 2*bareCPU), at(1000, bareCPU)},
		[]burst{at(950, 320*time.Microsecond), at(475, 640*time.Microsecond), at(100, bareCPU)},
	)
	rows := b.result.Rows
	if got := rows[0]; got.Ratio != "95 %" || got.Met != report.Yes || got.Measured != "475 /s (100–950)" || got.Limit != "1000 /s (500–1000)" {
		t.Errorf("speed: %+v", got)
	}
	if got := rows[1]; got.Ratio != "1.60 ×" || got.Met != report.No {
		t.Errorf("CPU: %+v", got)
	}
}

func TestSizeRowsAndPredictions(t *testing.T) {
	b := &bench{size: size{claims: 1000, snapshotsPerClaim: 40}}
	at := func(claims, snapshots int, heap, resident float64) footprint {
		return footprint{
			claims: claims, snapshots: snapshots, heap: heap, cpu: time.Duration(snapshots) * 100 * time.Microsecond,
			memory: process.Memory{Resident: int64(resident), Peak: int64(resident) + 10e6, Anonymous: int64(resident) - 40e6},
		}
	}
	b.sizeRows([]footprint{
		at(0, 0, 8e6, 60e6), at(1000, 20_000, 30e6, 90e6), at(1000, 40_000, 50e6, 121e6), at(1000, 80_000, 90e6, 200e6),
		at(1000, 100_000, 110e6, 250e6),
	})
	rows := b.result.Rows
	if got := rows[0]; got.Measured != "121 MB (peak 131 MB)" || got.Met != report.No {
		t.Errorf("resident: %+v", got)
	}
	if got := rows[1]; got.Measured != "1.00 kB" || got.Met != report.Yes {
		t.Errorf("per snapshot: %+v", got)
	}
	if got := rows[2]; got.Measured != "2.00 kB" {
		t.Errorf("per PVC: %+v", got)
	}
	growth := b.result.Details[1]
	// 8 MB + 2,500 × 2 kB + 100,000 × 1 kB; two bytes of memory for each at the peak, and a quarter more.
	want := []string{"2500", "40", "100000", "113 MB", "320 MiB", "10 s", "209"}
	if got := growth.Rows[2]; !slices.Equal(got, want) {
		t.Errorf("a larger cluster: %v, want %v", got, want)
	}
}

func TestRequestTableLeavesOutLeases(t *testing.T) {
	create, lease := audit.Request{Verb: "create", Resource: snapshotsResource}, audit.Request{Verb: "update", Resource: "leases"}
	get := audit.Request{Verb: "get", Resource: "snapshotschedules"}
	got := requestTable("x",
		phase{name: "one", requests: audit.Requests{create, create, create, lease}},
		phase{name: "other", requests: audit.Requests{get}})
	want := [][]string{{"create volumesnapshots", "3", "0"}, {"get snapshotschedules", "0", "1"}}
	if !slices.Equal(got.Header, []string{"request", "one", "other"}) || len(got.Rows) != 2 ||
		!slices.Equal(got.Rows[0], want[0]) || !slices.Equal(got.Rows[1], want[1]) {
		t.Errorf("got %+v", got)
	}
	if none := requestTable("x", phase{name: "idle"}); len(none.Rows) != 1 || none.Rows[0][0] != "none" {
		t.Errorf("without requests: %+v", none)
	}
}

func TestStormRowsCompareWithNoLimit(t *testing.T) {
	b := &bench{}
	free := storm.Outcome{Claims: 400, Took: 800 * time.Second, MostInFlight: 400, Missed: 90, Longest: 800 * time.Second, TenantCreated: time.Second, TenantCut: 9 * time.Minute}
	limited := storm.Outcome{Limit: 10, Claims: 400, Took: 816 * time.Second, MostInFlight: 10, Longest: 20 * time.Second, TenantCreated: 2 * time.Second, TenantCut: 20 * time.Second}
	b.stormRows(free, limited)
	for i, want := range []string{"0", "816.0 s", "2.0 s"} {
		if got := b.result.Rows[i]; got.Measured != want || got.Met != report.Yes {
			t.Errorf("row %d: %+v", i, got)
		}
	}
	limited.Missed, limited.Took, limited.TenantCreated = 1, 900*time.Second, time.Minute
	b.stormRows(free, limited)
	for i, got := range b.result.Rows[3:] {
		if got.Met != report.No {
			t.Errorf("row %d: %+v", i, got)
		}
	}
	want := []string{"none", "400", "0.50", "400", "800.0 s", "90", "800.0 s", "1.0 s", "540.0 s"}
	if got := b.result.Details[0].Rows[0]; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFailuresCountsFailedWrites(t *testing.T) {
	fine := audit.Requests{{Verb: "delete", Resource: snapshotsResource, Code: 200}, {Verb: "get", Resource: snapshotsResource, Code: 404}}
	if got := failures(fine); got != "" {
		t.Errorf("got %q where no write failed", got)
	}
	timeout := audit.Request{Verb: "delete", Resource: snapshotsResource, Code: 504}
	if got := failures(append(fine, timeout, timeout)); got != " (2 failed)" {
		t.Errorf("got %q", got)
	}
}
