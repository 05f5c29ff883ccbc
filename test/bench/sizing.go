// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// model predicts what an operator needs. It is linear: every snapshot and every PVC adds the same.
type model struct {
	// Bytes of live heap.
	empty, perClaim, perSnapshot float64
	// perByte is the resident memory per byte of live heap at the peak of a start, with garbage.
	perByte float64
	// start is CPU per snapshot.
	start time.Duration
}

// fitModel fits a model to footprints, the first of which is without PVCs.
func fitModel(footprints []footprint) model {
	var x, y []float64
	for _, w := range footprints[1:] {
		x, y = append(x, float64(w.snapshots)), append(y, w.heap)
	}
	slope, base := report.Fit(x, y)
	first, last := footprints[0], footprints[len(footprints)-1]
	m := model{empty: first.heap, perSnapshot: slope, perClaim: (base - first.heap) / float64(last.claims)}
	files := last.memory.Resident - last.memory.Anonymous
	m.perByte = float64(last.memory.Peak-files) / last.heap
	m.start = (last.cpu - first.cpu) / time.Duration(last.snapshots)
	return m
}

func (m model) heap(claims, snapshots float64) float64 {
	return m.empty + claims*m.perClaim + snapshots*m.perSnapshot
}

// limit is a memory limit in MiB: a quarter above the peak, in steps of 64.
func (m model) limit(claims, snapshots float64) float64 {
	const step = 64 << 20
	return 64 * math.Ceil(1.25*m.perByte*m.heap(claims, snapshots)/step)
}

// table predicts what some clusters need, most of them larger than what can be measured.
func (m model) table() report.Table {
	t := report.Table{
		Title:  "What clusters need, calculated",
		Header: []string{"PVCs", "snapshots of each", "snapshots", "live heap", "memory limit", "CPU of a start", "writes an hour, if each PVC has one a day"},
	}
	for _, c := range []struct{ claims, each float64 }{
		{100, 40}, {1000, 40}, {2500, 40}, {10_000, 40}, {25_000, 40}, {100_000, 40},
	} {
		n := c.claims * c.each
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("%.0f", c.claims), fmt.Sprintf("%.0f", c.each), fmt.Sprintf("%.0f", n), report.Bytes(m.heap(c.claims, n)),
			fmt.Sprintf("%.0f MiB", m.limit(c.claims, n)), fmt.Sprintf("%.0f s", n*m.start.Seconds()),
			// A create and, once the oldest snapshots expire, a delete.
			fmt.Sprintf("%.0f", math.Ceil(2*c.claims/24)),
		})
	}
	return t
}
