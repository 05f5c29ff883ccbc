// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// shippedDeletes is the default of --max-deletes-per-second.
const shippedDeletes = 50

// expiry shortens the TTL of a schedule so that many snapshots expire at once.
func expiry(ctx context.Context, b *bench, srv *server.Server) (err error) {
	each := max(1, b.expire/b.claims)
	n := each * b.claims
	b.progressf("write %d snapshots", n+b.claims)
	d, err := newDataset(ctx, srv, "expiry", b.claims)
	if err != nil {
		return err
	}
	if err := d.write(ctx, 0, 1+each, deletable); err != nil {
		return err
	}
	o, err := b.startOperator(ctx, srv, "--max-deletes-per-second=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := d.waitIdle(ctx, o, n+b.claims); err != nil {
		return err
	}
	w, err := srv.WatchSnapshots(ctx, d.schedule.Namespace)
	if err != nil {
		return err
	}
	defer w.Stop()
	b.progressf("expire %d of them", n)
	var cpu time.Duration
	done, err := counted(srv, fmt.Sprintf("%d of %d expired", n, n+b.claims), func() (err error) {
		cpu, err = o.UsedCPU(ctx, func(ctx context.Context) error {
			if err := d.patch(ctx, func(s *v1alpha1.SnapshotSchedule) { s.Spec.SnapshotTTL = expiring }); err != nil {
				return err
			}
			if err := w.Wait(ctx, watch.Deleted, n); err != nil {
				return err
			}
			return srv.WaitForStatus(ctx, d.key(), b.claims, b.claims)
		})
		return err
	})
	if err != nil {
		return err
	}
	b.expiryRows(n, w, done, cpu)
	return nil
}

func (b *bench) expiryRows(n int, w *server.Watch, done phase, cpu time.Duration) {
	per := func(count int) float64 { return float64(count) / float64(n) }
	writes := per(len(done.requests.Of(snapshotsResource, writeVerbs...)))
	b.row(report.Row{
		What: "API writes per expired snapshot", Measured: ratioText(writes) + failures(done.requests), Values: map[string]float64{"measured": writes},
	}.Exactly(writes, 1, "1"))
	reads := len(done.requests.Where(func(r audit.Request) bool { return r.Verb == "get" && r.Resource != "leases" }))
	b.row(report.Row{
		What: "live reads of the guards per expired snapshot", Measured: ratioText(per(reads)),
		Values: map[string]float64{"measured": per(reads)},
	})
	deleted := w.Times(watch.Deleted)
	took := deleted[len(deleted)-1].Sub(deleted[0])
	b.row(report.Row{
		What: fmt.Sprintf("%d snapshots expire at once, no limit on deletes", n),
		Measured: fmt.Sprintf("%.1f s, %.0f/s, %s CPU each", took.Seconds(), w.Rate(watch.Deleted),
			ms(cpu/time.Duration(n))),
		Limit:  fmt.Sprintf("(as shipped %d/s: %s)", shippedDeletes, (time.Duration(n) * time.Second / shippedDeletes).Round(time.Second)),
		Values: map[string]float64{"rate": w.Rate(watch.Deleted), "cpuMilliseconds": 1000 * cpu.Seconds() / float64(n)},
	})
	b.detail(requestTable("Requests of the operator: expiry", done))
}
