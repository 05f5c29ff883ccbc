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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// newClaims creates PVCs one after another, among many others, and measures the time until each has
// its first snapshot.
func newClaims(ctx context.Context, b *bench, srv *server.Server) (err error) {
	d, err := newDataset(ctx, srv, "new-pvc", b.claims, true)
	if err != nil {
		return err
	}
	if err := d.write(ctx, 0, 1, false); err != nil {
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
	var took []float64
	for i := range b.newClaims {
		claim := builders.Claim(d.schedule.Namespace, fmt.Sprintf("new-%05d", i), nil)
		if err := srv.Client.Create(ctx, claim); err != nil {
			return err
		}
		claim.Status.Phase = corev1.ClaimBound
		bound := time.Now() // the API server's time for that is included
		if err := srv.Client.Status().Update(ctx, claim); err != nil {
			return err
		}
		if err := w.Wait(ctx, watch.Added, i+1); err != nil {
			return err
		}
		took = append(took, w.Times(watch.Added)[i].Sub(bound).Seconds())
	}
	b.result.add(fmt.Sprintf("a new PVC's first snapshot, %d others present: the slowest of %d", b.claims, len(took)), "sec", slices.Max(took)).
		must("≤", 1)
	b.result.add("the same: all of them", "sec", took...)
	return nil
}

// manySchedules measures many schedules over the same PVCs.
func manySchedules(ctx context.Context, b *bench, srv *server.Server) error {
	if err := b.suspendedSchedules(ctx, srv); err != nil {
		return err
	}
	return b.schedulesBurst(ctx, srv)
}

// suspendedSchedules measures what schedules cost that select the same PVCs and create nothing.
func (b *bench) suspendedSchedules(ctx context.Context, srv *server.Server) error {
	d, err := newDataset(ctx, srv, "schedules", b.claims, false)
	if err != nil {
		return err
	}
	var all []client.Object
	for i := range b.schedules {
		s := daily(d.schedule.Namespace, fmt.Sprintf("%s-%03d", scheduleName, i))
		s.Spec.Suspend = true
		all = append(all, server.Old(s, d.now.Add(-longAgo)))
	}
	one, _, err := b.schedulesFootprint(ctx, d, all[:1])
	if err != nil {
		return err
	}
	full, change, err := b.schedulesFootprint(ctx, d, all)
	if err != nil {
		return err
	}
	pairs := float64(b.claims * (b.schedules - 1))
	b.result.add(fmt.Sprintf("%d suspended schedules over the same %d PVCs: heap per schedule and PVC", b.schedules, b.claims), "B", (full.heap-one.heap)/pairs)
	b.result.add("the same: resident memory", "B", float64(full.memory.Resident))
	b.result.add("the same: CPU of the first reconcile, per schedule and PVC", "sec", (full.cpu-one.cpu)/pairs)
	b.result.add(fmt.Sprintf("the same: CPU when a PVC's labels change, for all %d schedules", b.schedules), "sec", change)
	return nil
}

// schedulesFootprint measures an operator with some schedules, and its CPU seconds per PVC that changes.
func (b *bench) schedulesFootprint(ctx context.Context, d *dataset, schedules []client.Object) (f footprint, change float64, err error) {
	if err := d.server.Put(ctx, schedules...); err != nil {
		return f, 0, err
	}
	o, err := b.startOperator(ctx, d.server)
	if err != nil {
		return f, 0, err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := d.allCounted(ctx, schedules, 0); err != nil {
		return f, 0, err
	}
	if err := o.WaitIdle(ctx); err != nil {
		return f, 0, err
	}
	if f, err = measure(ctx, o, len(d.claims), 0); err != nil {
		return f, 0, err
	}
	if err := o.WaitIdle(ctx); err != nil {
		return f, 0, err
	}
	used, err := o.UsedCPU(ctx, func(ctx context.Context) error {
		for i := range b.newClaims {
			var claim corev1.PersistentVolumeClaim
			if err := d.server.Client.Get(ctx, client.ObjectKeyFromObject(d.claims[i]), &claim); err != nil {
				return err
			}
			claim.Labels["tier"] = "gold-" + time.Now().Format("150405.000000")
			if err := d.server.Client.Update(ctx, &claim); err != nil {
				return err
			}
		}
		return nil
	})
	return f, used.Seconds() / float64(b.newClaims), err
}

// allCounted waits until the status of each schedule counts all PVCs, and these snapshots.
func (d *dataset) allCounted(ctx context.Context, schedules []client.Object, snapshots int) error {
	for _, s := range schedules {
		if err := d.server.WaitForStatus(ctx, client.ObjectKeyFromObject(s), len(d.claims), snapshots); err != nil {
			return err
		}
	}
	return nil
}

// schedulesBurst lets many schedules take one snapshot each of fewer PVCs.
func (b *bench) schedulesBurst(ctx context.Context, srv *server.Server) (err error) {
	claims := max(1, b.claims/10)
	d, err := newDataset(ctx, srv, "schedules-due", claims, false)
	if err != nil {
		return err
	}
	o, err := b.startOperator(ctx, srv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	total := claims * b.schedules
	b.progressf("%d schedules take a snapshot each of %d PVCs", b.schedules, claims)
	var all []client.Object
	for i := range b.schedules {
		all = append(all, daily(d.schedule.Namespace, fmt.Sprintf("%s-%03d", scheduleName, i)))
	}
	done, err := d.do(ctx, o, watch.Added, total, func() error {
		for _, s := range all {
			if err := srv.Client.Create(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context) error { return d.allCounted(ctx, all, claims) })
	if err != nil {
		return err
	}
	memory, err := o.Memory()
	if err != nil {
		return err
	}
	due := fmt.Sprintf("%d schedules × %d PVCs due at once: ", b.schedules, claims)
	b.result.add(due+"snapshots a second", "/s", done.rate)
	b.result.add(due+"CPU per snapshot", "sec", done.cpu/float64(total))
	b.result.add(due+"resident memory", "B", float64(memory.Resident))
	return nil
}
