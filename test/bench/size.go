// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// footprint is the memory and CPU of an operator that has reconciled everything.
type footprint struct {
	claims, snapshots int
	memory            process.Memory
	heap              float64
	// cpu is counted from the start.
	cpu time.Duration
}

// sizes measures operators with more and more snapshots of the same PVCs, and restarts with the most.
func sizes(ctx context.Context, b *bench, srv *server.Server) error {
	empty, err := b.footprint(ctx, srv, nil, 0)
	if err != nil {
		return err
	}
	d, err := newDataset(ctx, srv, "size", b.claims)
	if err != nil {
		return err
	}
	footprints := []footprint{empty}
	written := 0
	for _, each := range []int{max(1, b.snapshotsPerClaim/2), b.snapshotsPerClaim, 2 * b.snapshotsPerClaim} {
		if err := b.grow(ctx, d, written, each); err != nil {
			return err
		}
		written = each
		f, err := b.footprint(ctx, srv, d, each*b.claims)
		if err != nil {
			return err
		}
		b.progressf("%d snapshots: %s resident, %s of live heap, %.1f s of CPU", f.snapshots,
			report.Bytes(float64(f.memory.Resident)), report.Bytes(f.heap), f.cpu.Seconds())
		footprints = append(footprints, f)
	}
	if each := b.restart / b.claims; each > written {
		if err := b.grow(ctx, d, written, each); err != nil {
			return err
		}
		written = each
	}
	last, err := b.restarts(ctx, d, written*b.claims)
	if err != nil {
		return err
	}
	b.sizeRows(append(footprints, last))
	return nil
}

func (b *bench) grow(ctx context.Context, d *dataset, from, to int) error {
	b.progressf("write %d snapshots, %d in all", (to-from)*len(d.claims), to*len(d.claims))
	return d.write(ctx, from, to, nil)
}

// footprint starts an operator and measures it once it is idle. d may be nil.
func (b *bench) footprint(ctx context.Context, srv *server.Server, d *dataset, snapshots int) (f footprint, err error) {
	o, err := b.startOperator(ctx, srv)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if d != nil {
		if err := d.waitIdle(ctx, o, snapshots); err != nil {
			return f, err
		}
		f.claims = len(d.claims)
	}
	f.snapshots = snapshots
	err = f.measure(ctx, o)
	return f, err
}

// measure reads the footprint of an operator. Reading the live heap allocates, so it comes last.
func (f *footprint) measure(ctx context.Context, o *server.Operator) (err error) {
	if f.cpu, err = o.CPU(); err != nil {
		return err
	}
	if f.memory, err = o.Memory(); err != nil {
		return err
	}
	f.heap, err = o.LiveHeap(ctx)
	return err
}

// sizeRows gets the footprints without PVCs, with three numbers of snapshots, and of the restart.
func (b *bench) sizeRows(footprints []footprint) {
	m := fitModel(footprints)
	usual, last := footprints[2], footprints[len(footprints)-1]
	resident := float64(usual.memory.Resident)
	b.row(report.Row{
		What:     fmt.Sprintf("resident memory, %d PVCs × %d snapshots", b.claims, b.snapshotsPerClaim),
		Measured: fmt.Sprintf("%s (peak %s)", report.Bytes(resident), report.Bytes(float64(usual.memory.Peak))),
		Values:   map[string]float64{"resident": resident, "peak": float64(usual.memory.Peak)},
	}.AtMost(resident, 120e6, "120 MB"))
	b.row(report.Row{
		What:     fmt.Sprintf("heap per further snapshot, %d to %d of them", footprints[1].snapshots, last.snapshots),
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
	for _, w := range footprints {
		mb := func(n int64) string { return report.Bytes(float64(n)) }
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(w.claims), fmt.Sprint(w.snapshots), mb(w.memory.Resident), mb(w.memory.Peak), mb(w.memory.Anonymous),
			report.Bytes(w.heap), fmt.Sprintf("%.1f s", w.cpu.Seconds()),
		})
	}
	b.detail(t)
	b.detail(m.table())
}
