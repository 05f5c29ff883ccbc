// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// shippedDeletes is the default of --max-deletes-per-second.
const shippedDeletes = 50

// expiry shortens the TTL of a schedule so that many snapshots go at once.
func expiry(ctx context.Context, b *bench, l *lab.Lab) (err error) {
	each := max(1, b.expire/b.claims)
	n := each * b.claims
	b.say("write %d snapshots", n+b.claims)
	e, err := newEstate(ctx, l, "expiry", b.claims)
	if err != nil {
		return err
	}
	if err := e.take(ctx, 0, 1+each, deletable); err != nil {
		return err
	}
	p, err := b.working(ctx, l, "--max-deletes-per-second=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := e.rest(ctx, p, n+b.claims); err != nil {
		return err
	}
	w, err := l.WatchSnapshots(ctx, e.schedule.Namespace)
	if err != nil {
		return err
	}
	defer w.Stop()
	cpu, err := p.CPU()
	if err != nil {
		return err
	}
	b.say("expire %d of them", n)
	done, err := counted(l, fmt.Sprintf("%d of %d expired", n, n+b.claims), func() error {
		if err := e.patch(ctx, func(s *v1alpha1.SnapshotSchedule) { s.Spec.SnapshotTTL = expiring }); err != nil {
			return err
		}
		if err := w.Await(ctx, lab.Deleted, n); err != nil {
			return err
		}
		return e.rest(ctx, p, b.claims)
	})
	if err != nil {
		return err
	}
	cpuAfter, err := p.CPU()
	if err != nil {
		return err
	}
	b.expiryRows(n, w, done, cpuAfter-cpu)
	return nil
}

func (b *bench) expiryRows(n int, w *lab.Watch, done phase, cpu time.Duration) {
	per := func(count int) float64 { return float64(count) / float64(n) }
	writes := per(done.requests.Of(snapshotsResource, writeVerbs...))
	b.row(report.Row{
		What: "API writes per expired snapshot", Measured: ratioText(writes) + failures(done.requests), Values: map[string]float64{"measured": writes},
	}.Exactly(writes, 1, "1"))
	reads := 0
	for r, count := range done.requests {
		if r.Verb == "get" && r.Resource != "leases" {
			reads += count
		}
	}
	b.row(report.Row{
		What: "live reads of the guards per expired snapshot", Measured: ratioText(per(reads)),
		Values: map[string]float64{"measured": per(reads)},
	})
	deleted := w.Times(lab.Deleted)
	took := deleted[len(deleted)-1].Sub(deleted[0])
	b.row(report.Row{
		What: fmt.Sprintf("%d snapshots expire at once, no limit on deletes", n),
		Measured: fmt.Sprintf("%.1f s, %.0f/s, %s CPU each", took.Seconds(), w.Rate(lab.Deleted),
			ms(cpu/time.Duration(n))),
		Limit:  fmt.Sprintf("(as shipped %d/s: %s)", shippedDeletes, (time.Duration(n) * time.Second / shippedDeletes).Round(time.Second)),
		Values: map[string]float64{"rate": w.Rate(lab.Deleted), "cpuMilliseconds": 1000 * cpu.Seconds() / float64(n)},
	})
	b.detail(requestTable("Requests of the operator: expiry", done))
}
