// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	cyclesMetric = "go_gc_cycles_total_gc_cycles_total"
	liveMetric   = "go_gc_heap_live_bytes"
	scrapes      = 100_000
)

// gc returns the number of garbage collections so far, and the bytes that the last one found alive.
func (o *Operator) gc(ctx context.Context) (cycles, live float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.metrics, nil)
	if err != nil {
		return 0, 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, o.Explain(err)
	}
	defer answer.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		return 0, 0, fmt.Errorf("read the metrics: %w", err)
	}
	counter, gauge := families[cyclesMetric].GetMetric(), families[liveMetric].GetMetric()
	if len(counter) != 1 || len(gauge) != 1 {
		return 0, 0, fmt.Errorf("the metrics (%s) have no %s or %s", answer.Status, cyclesMetric, liveMetric)
	}
	return counter[0].GetCounter().GetValue(), gauge[0].GetGauge().GetValue(), nil
}

// LiveHeap returns the bytes that the garbage collector found alive in its last cycle (runtime/metrics
// /gc/heap/live:bytes). It waits for two whole cycles, which empty the pools: each scrape of the
// metrics allocates, so many scrapes cause a cycle.
func (o *Operator) LiveHeap(ctx context.Context) (float64, error) {
	first, _, err := o.gc(ctx)
	if err != nil {
		return 0, err
	}
	for range scrapes {
		cycles, live, err := o.gc(ctx)
		if err != nil {
			return 0, err
		}
		// The cycle of the first scrape had begun before.
		if cycles >= first+3 {
			return live, nil
		}
	}
	return 0, fmt.Errorf("%d scrapes of the metrics caused no garbage collection", scrapes)
}
