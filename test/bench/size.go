// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

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
	claims, snapshots int
	memory            proc.Memory
	heap              float64
	// cpu is what it took from its start.
	cpu time.Duration
}

// sizes starts operators among more and more snapshots of the same PVCs: it weighs them, and takes
// the time of a restart at the end.
func sizes(ctx context.Context, b *bench, l *lab.Lab) error {
	empty, err := b.weigh(ctx, l, nil, 0)
	if err != nil {
		return err
	}
	e, err := newEstate(ctx, l, "size", b.claims)
	if err != nil {
		return err
	}
	weights := []weight{empty}
	written := 0
	for _, each := range []int{max(1, b.perClaim/2), b.perClaim, 2 * b.perClaim} {
		if err := b.grow(ctx, e, written, each); err != nil {
			return err
		}
		written = each
		w, err := b.weigh(ctx, l, e, each*b.claims)
		if err != nil {
			return err
		}
		b.say("%d snapshots: %s resident, %s of live heap, %.1f s of CPU", w.snapshots,
			report.Bytes(float64(w.memory.Resident)), report.Bytes(w.heap), w.cpu.Seconds())
		weights = append(weights, w)
	}
	if each := b.restart / b.claims; each > written {
		if err := b.grow(ctx, e, written, each); err != nil {
			return err
		}
		written = each
	}
	last, err := b.restarts(ctx, e, written*b.claims)
	if err != nil {
		return err
	}
	b.sizeRows(append(weights, last))
	return nil
}

func (b *bench) grow(ctx context.Context, e *estate, from, to int) error {
	b.say("write %d snapshots, %d in all", (to-from)*len(e.claims), to*len(e.claims))
	return e.take(ctx, from, to, nil)
}

// weigh starts an operator and weighs it once it rests, among the snapshots of an estate or none.
func (b *bench) weigh(ctx context.Context, l *lab.Lab, e *estate, snapshots int) (w weight, err error) {
	p, err := b.working(ctx, l)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if e != nil {
		if err := e.rest(ctx, p, snapshots); err != nil {
			return w, err
		}
		w.claims = len(e.claims)
	}
	w.snapshots = snapshots
	err = w.now(ctx, p)
	return w, err
}

// now fills in what a process weighs at this moment. The look at the heap makes garbage, so it
// comes last.
func (w *weight) now(ctx context.Context, p *lab.Process) (err error) {
	if w.cpu, err = p.CPU(); err != nil {
		return err
	}
	if w.memory, err = p.Memory(); err != nil {
		return err
	}
	w.heap, err = p.LiveHeap(ctx)
	return err
}

// sizeRows is given the operator without PVCs, the three that the slope is drawn through, and the
// one of the restart.
func (b *bench) sizeRows(weights []weight) {
	m := modelOf(weights)
	usual, last := weights[2], weights[len(weights)-1]
	resident := float64(usual.memory.Resident)
	b.row(report.Row{
		What:     fmt.Sprintf("resident memory, %d PVCs × %d snapshots", b.claims, b.perClaim),
		Measured: fmt.Sprintf("%s (peak %s)", report.Bytes(resident), report.Bytes(float64(usual.memory.Peak))),
		Values:   map[string]float64{"resident": resident, "peak": float64(usual.memory.Peak)},
	}.AtMost(resident, 120e6, "120 MB"))
	b.row(report.Row{
		What:     fmt.Sprintf("heap per further snapshot, %d to %d of them", weights[1].snapshots, last.snapshots),
		Measured: report.Bytes(m.perSnapshot), Values: map[string]float64{"slope": m.perSnapshot},
	}.AtMost(m.perSnapshot, 1200, "1.2 kB"))
	b.row(report.Row{
		What:     "heap per further PVC",
		Measured: report.Bytes(m.perClaim), Values: map[string]float64{"slope": m.perClaim, "empty": m.empty},
	})
	t := report.Table{
		Title:  "Memory and CPU of the operator after a start",
		Header: []string{"PVCs", "snapshots", "resident", "peak", "resident without files", "live heap", "CPU of the start"},
	}
	for _, w := range weights {
		mb := func(n int64) string { return report.Bytes(float64(n)) }
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(w.claims), fmt.Sprint(w.snapshots), mb(w.memory.Resident), mb(w.memory.Peak), mb(w.memory.Anonymous),
			report.Bytes(w.heap), fmt.Sprintf("%.1f s", w.cpu.Seconds()),
		})
	}
	b.detail(t)
	b.detail(m.table())
}
