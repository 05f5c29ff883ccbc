// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// newClaims creates PVCs one after another, among many others, and measures the time until each has
// its first snapshot.
func newClaims(ctx context.Context, b *bench) {
	d := b.newDataset(ctx, "new-pvc", b.claims, true)
	d.write(ctx, 0, 1, false)
	o := b.startOperator(ctx)
	defer b.stop(o)
	d.waitIdle(ctx, o, b.claims)
	w, stop := b.server.watchSnapshots(ctx, d.schedule.Namespace)
	defer stop()
	var took []float64
	for i := range b.newClaims {
		claim := builders.Claim(d.schedule.Namespace, fmt.Sprintf("new-%05d", i), nil)
		must(b.server.client.Create(ctx, claim))
		claim.Status.Phase = corev1.ClaimBound
		bound := time.Now() // the API server's time for that is included
		must(b.server.client.Status().Update(ctx, claim))
		took = append(took, w.wait(ctx, watch.Added, i+1)[i].Sub(bound).Seconds())
	}
	b.result.add(fmt.Sprintf("a new PVC's first snapshot, %d others present: the slowest of %d", b.claims, len(took)), "sec", slices.Max(took)).
		must("≤", 1)
	b.result.add("the same: all of them", "sec", took...)
}

// manySchedules measures many schedules over the same PVCs: suspended ones, and ones that fall due.
func manySchedules(ctx context.Context, b *bench) {
	b.suspendedSchedules(ctx)
	b.schedulesBurst(ctx)
}

// suspendedSchedules measures what schedules cost that select the same PVCs and create nothing.
func (b *bench) suspendedSchedules(ctx context.Context) {
	d := b.newDataset(ctx, "schedules", b.claims, false)
	var all []client.Object
	for i := range b.schedules {
		s := daily(d.schedule.Namespace, fmt.Sprintf("%s-%03d", scheduleName, i))
		s.Spec.Suspend = true
		all = append(all, old(s, d.now.Add(-longAgo)))
	}
	one, _ := b.schedulesFootprint(ctx, d, all[:1])
	full, change := b.schedulesFootprint(ctx, d, all)
	pairs := float64(b.claims * (b.schedules - 1))
	b.result.add(fmt.Sprintf("%d suspended schedules over the same %d PVCs: heap per schedule and PVC", b.schedules, b.claims), "B", (full.heap-one.heap)/pairs)
	b.result.add("the same: resident memory", "B", float64(full.memory.Resident))
	b.result.add("the same: CPU of the first reconcile, per schedule and PVC", "sec", (full.cpu-one.cpu)/pairs)
	b.result.add(fmt.Sprintf("the same: CPU when a PVC's labels change, for all %d schedules", b.schedules), "sec", change)
}

// schedulesFootprint measures an operator with some schedules, and its CPU seconds per PVC that changes.
func (b *bench) schedulesFootprint(ctx context.Context, d *dataset, schedules []client.Object) (f footprint, change float64) {
	d.server.put(ctx, schedules...)
	o := b.startOperator(ctx)
	defer b.stop(o)
	d.counted(ctx, 0, schedules...)
	o.waitIdle(ctx)
	f = measure(o, len(d.claims), 0)
	o.waitIdle(ctx)
	before := o.cpu()
	for i := range b.newClaims {
		var claim corev1.PersistentVolumeClaim
		must(d.server.client.Get(ctx, client.ObjectKeyFromObject(d.claims[i]), &claim))
		claim.Labels["tier"] = "gold-" + time.Now().Format("150405.000000")
		must(d.server.client.Update(ctx, &claim))
	}
	o.waitIdle(ctx)
	return f, (o.cpu() - before).Seconds() / float64(b.newClaims)
}

// schedulesBurst lets many schedules take one snapshot each of fewer PVCs.
func (b *bench) schedulesBurst(ctx context.Context) {
	claims := max(1, b.claims/10)
	d := b.newDataset(ctx, "schedules-due", claims, false)
	o := b.startOperator(ctx)
	defer b.stop(o)
	total := claims * b.schedules
	b.progressf("%d schedules take a snapshot each of %d PVCs", b.schedules, claims)
	var all []client.Object
	for i := range b.schedules {
		all = append(all, daily(d.schedule.Namespace, fmt.Sprintf("%s-%03d", scheduleName, i)))
	}
	done := d.do(ctx, o, watch.Added, total, func() {
		for _, s := range all {
			must(b.server.client.Create(ctx, s))
		}
	}, func(ctx context.Context) { d.counted(ctx, claims, all...) })
	due := fmt.Sprintf("%d schedules × %d PVCs due at once: ", b.schedules, claims)
	b.result.add(due+"snapshots a second", "/s", done.rate)
	b.result.add(due+"CPU per snapshot", "sec", done.cpu/float64(total))
	b.result.add(due+"resident memory", "B", float64(o.memory().Resident))
}
