/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/proc"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// weight is what an operator weighs once it has looked at everything.
type weight struct {
	snapshots int
	memory    proc.Memory
	heap      float64
	// cpu is what it took from its start.
	cpu time.Duration
}

// memory weighs operators that start with more and more snapshots.
func memory(ctx context.Context, b *bench, l *lab.Lab) error {
	e, err := newEstate(ctx, l, "memory", b.claims)
	if err != nil {
		return err
	}
	var weights []weight
	written := 0
	for _, each := range []int{max(1, b.perClaim/2), b.perClaim, 2 * b.perClaim} {
		b.say("write %d snapshots, %d in all", (each-written)*b.claims, each*b.claims)
		if err := e.take(ctx, written, each, nil); err != nil {
			return err
		}
		written = each
		w, err := b.weigh(ctx, e, each*b.claims)
		if err != nil {
			return err
		}
		b.say("%d snapshots: %s resident, %s of live heap, %.1f s of CPU", w.snapshots,
			report.Bytes(float64(w.memory.Resident)), report.Bytes(w.heap), w.cpu.Seconds())
		weights = append(weights, w)
	}
	b.memoryRows(weights)
	return nil
}

func (b *bench) weigh(ctx context.Context, e *estate, snapshots int) (w weight, err error) {
	p, err := b.working(ctx, e.lab)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := e.rest(ctx, p, snapshots); err != nil {
		return w, err
	}
	return weighNow(ctx, p, snapshots)
}

func weighNow(ctx context.Context, p *lab.Process, snapshots int) (w weight, err error) {
	w.snapshots = snapshots
	if w.cpu, err = p.CPU(); err != nil {
		return w, err
	}
	if w.memory, err = p.Memory(); err != nil {
		return w, err
	}
	w.heap, err = p.LiveHeap(ctx)
	return w, err
}

func (b *bench) memoryRows(weights []weight) {
	var x, y []float64
	t := report.Table{
		Title:  "Memory and CPU of the operator after a start",
		Header: []string{"snapshots", "resident", "peak", "without the program's file", "live heap", "CPU of the start"},
	}
	for _, w := range weights {
		x, y = append(x, float64(w.snapshots)), append(y, w.heap)
		t.Rows = append(t.Rows, weightRow(w))
	}
	slope, base := report.Fit(x, y)
	usual := weights[1]
	resident := float64(usual.memory.Resident)
	b.row(report.Row{
		What:     fmt.Sprintf("resident memory, %d PVCs × %d snapshots", b.claims, b.perClaim),
		Measured: fmt.Sprintf("%s (peak %s)", report.Bytes(resident), report.Bytes(float64(usual.memory.Peak))),
		Values:   map[string]float64{"resident": resident, "peak": float64(usual.memory.Peak)},
	}.AtMost(resident, 120e6, "120 MB"))
	b.row(report.Row{
		What:     fmt.Sprintf("heap per further snapshot, %d to %d of them", weights[0].snapshots, weights[2].snapshots),
		Measured: report.Bytes(slope), Values: map[string]float64{"slope": slope, "intercept": base},
	}.AtMost(slope, 1200, "1.2 kB"))
	b.row(report.Row{
		What:     fmt.Sprintf("heap that remains for %d PVCs without snapshots (of the same line)", b.claims),
		Measured: report.Bytes(base),
	})
	b.detail(t)
}

func weightRow(w weight) []string {
	mb := func(n int64) string { return report.Bytes(float64(n)) }
	return []string{
		fmt.Sprint(w.snapshots), mb(w.memory.Resident), mb(w.memory.Peak), mb(w.memory.Anonymous),
		report.Bytes(w.heap), fmt.Sprintf("%.1f s", w.cpu.Seconds()),
	}
}
