// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// newClaims creates PVCs one after another, among many others, and measures the time until each has
// its first snapshot.
func newClaims(ctx context.Context, b *bench, srv *server.Server) (err error) {
	d, err := newDataset(ctx, srv, "new-pvc", b.claims)
	if err != nil {
		return err
	}
	if err := d.write(ctx, 0, 1, nil); err != nil {
		return err
	}
	o, err := b.startOperator(ctx, srv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := d.waitIdle(ctx, o, b.claims); err != nil {
		return err
	}
	w, err := srv.WatchSnapshots(ctx, d.schedule.Namespace)
	if err != nil {
		return err
	}
	defer w.Stop()
	var took []time.Duration
	for i := range b.newClaims {
		bound, err := bindNew(ctx, srv, d.schedule.Namespace, fmt.Sprintf("new-%05d", i))
		if err != nil {
			return err
		}
		if err := w.Wait(ctx, watch.Added, i+1); err != nil {
			return err
		}
		took = append(took, w.Times(watch.Added)[i].Sub(bound))
	}
	worst := slices.Max(took)
	b.row(report.Row{
		What:     fmt.Sprintf("a new PVC's first snapshot, %d others present (worst of %d)", b.claims, len(took)),
		Measured: fmt.Sprintf("%.0f ms (median %.0f ms)", 1000*worst.Seconds(), 1000*report.Median(took).Seconds()),
		Values:   map[string]float64{"worst": worst.Seconds(), "median": report.Median(took).Seconds()},
	}.AtMost(worst.Seconds(), 1, "1 s"))
	return nil
}

// bindNew creates a PVC and binds it. It returns the time just before binding, so that the API server's
// time for that is included.
func bindNew(ctx context.Context, srv *server.Server, namespace, name string) (time.Time, error) {
	claim := builders.Claim(namespace, name, nil)
	if err := srv.Client.Create(ctx, claim); err != nil {
		return time.Time{}, err
	}
	claim.Status.Phase = corev1.ClaimBound
	before := time.Now()
	return before, srv.Client.Status().Update(ctx, claim)
}
