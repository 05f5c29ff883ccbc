// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"maps"
	"testing"
)

func TestParseMetrics(t *testing.T) {
	text := "# HELP go_gc_heap_live_bytes x\n# TYPE go_gc_heap_live_bytes gauge\ngo_gc_heap_live_bytes 1.234e+07\n" +
		"workqueue_depth{name=\"a b\"} 3\ngo_gc_cycles_total_gc_cycles_total 12\nodd\n\n"
	want := map[string]float64{liveMetric: 12_340_000, cyclesMetric: 12}
	if got := parseMetrics(text); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
