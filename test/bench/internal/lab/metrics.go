// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// parseMetrics reads the samples without labels of Prometheus' text format.
func parseMetrics(text string) map[string]float64 {
	found := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, "{") {
			continue
		}
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = number
		}
	}
	return found
}

const (
	cyclesMetric = "go_gc_cycles_total_gc_cycles_total"
	liveMetric   = "go_gc_heap_live_bytes"
	scrapes      = 100_000
)

// LiveHeap is what the garbage collector found alive in its last cycle (runtime/metrics
// /gc/heap/live:bytes), in bytes. Two cycles are awaited first, so that what was used up and the
// pools are gone: every look at the metrics leaves garbage behind, so looking often enough makes
// them come.
func (p *Process) LiveHeap(ctx context.Context) (float64, error) {
	first := -1.0
	for range scrapes {
		m, err := p.Metrics(ctx)
		if err != nil {
			return 0, err
		}
		cycles, ok := m[cyclesMetric]
		live, alive := m[liveMetric]
		if !ok || !alive {
			return 0, fmt.Errorf("the metrics have no %s or %s", cyclesMetric, liveMetric)
		}
		if first < 0 {
			first = cycles
		}
		// The cycle that the first look falls into had begun before.
		if cycles >= first+3 {
			return live, nil
		}
	}
	return 0, fmt.Errorf("%d looks at the metrics made no garbage to collect", scrapes)
}
