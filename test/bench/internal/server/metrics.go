// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

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

// LiveHeap returns the bytes that the garbage collector found alive in its last cycle (runtime/metrics
// /gc/heap/live:bytes). It waits for two whole cycles, which empty the pools: each scrape of the
// metrics allocates, so many scrapes cause a cycle.
func (o *Operator) LiveHeap(ctx context.Context) (float64, error) {
	first := -1.0
	for range scrapes {
		m, err := o.Metrics(ctx)
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
		// The cycle of the first scrape had begun before.
		if cycles >= first+3 {
			return live, nil
		}
	}
	return 0, fmt.Errorf("%d scrapes of the metrics caused no garbage collection", scrapes)
}
