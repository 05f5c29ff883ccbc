// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

const (
	scheduleName = "schedule"
	// interval is that of every schedule. The newest slot of a dataset was an hour ago, so nothing falls due
	// while something else is measured.
	interval     = v1alpha1.Duration("1d")
	intervalTime = 24 * time.Hour
	sinceSlot    = time.Hour
	// longAgo is the age of PVCs and schedules: older than the longest series.
	longAgo = 120*intervalTime + sinceSlot
)

// daily is a schedule as a user creates it.
func daily(namespace, name string) *v1alpha1.SnapshotSchedule {
	return builders.Schedule(namespace, name, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
}

// dataset is a namespace with PVCs and a schedule that has taken snapshots of them.
type dataset struct {
	server   *server
	now      time.Time
	schedule *v1alpha1.SnapshotSchedule
	claims   []*corev1.PersistentVolumeClaim
}

// newDataset writes PVCs into a new namespace, with an old schedule or without one.
func (b *bench) newDataset(ctx context.Context, namespace string, claims int, scheduled bool) *dataset {
	must(b.server.namespace(ctx, namespace))
	d := &dataset{server: b.server, now: time.Now().Truncate(time.Second), schedule: daily(namespace, scheduleName)}
	d.fill(ctx, claims)
	if scheduled {
		d.schedule = old(d.schedule, d.now.Add(-longAgo))
		b.server.put(ctx, d.schedule)
	}
	return d
}

// fill writes the PVCs.
func (d *dataset) fill(ctx context.Context, claims int) {
	d.claims = nil
	var objects []client.Object
	for i := range claims {
		claim := boundClaim(d.schedule.Namespace, fmt.Sprintf("claim-%05d", i), d.now.Add(-longAgo))
		d.claims, objects = append(d.claims, claim), append(objects, claim)
	}
	d.server.put(ctx, objects...)
}

// create creates the schedule as a user does.
func (d *dataset) create(ctx context.Context) {
	must(d.server.client.Create(ctx, daily(d.schedule.Namespace, d.schedule.Name)))
}

// snapshot returns the snapshot of a PVC for the slot so many slots ago.
func (d *dataset) snapshot(claim *corev1.PersistentVolumeClaim, slotsAgo int) *snapshotv1.VolumeSnapshot {
	return readySnapshot(d.schedule, claim, d.now.Add(-sinceSlot-time.Duration(slotsAgo)*intervalTime))
}

// write writes the snapshots of all PVCs for a range of slots, counted from the newest. Those that will be deleted
// have no finalizers, because there is no snapshot controller to remove them.
func (d *dataset) write(ctx context.Context, from, to int, deletable bool) {
	for slotsAgo := from; slotsAgo < to; slotsAgo++ {
		var objects []client.Object
		for _, claim := range d.claims {
			snapshot := d.snapshot(claim, slotsAgo)
			if deletable {
				snapshot.Finalizers = nil
			}
			objects = append(objects, snapshot)
		}
		d.server.put(ctx, objects...)
	}
}

// patch changes the schedule as a user does.
func (d *dataset) patch(ctx context.Context, change func(*v1alpha1.SnapshotSchedule)) {
	var live v1alpha1.SnapshotSchedule
	must(d.server.client.Get(ctx, client.ObjectKeyFromObject(d.schedule), &live))
	before := live.DeepCopy()
	change(&live)
	must(d.server.client.Patch(ctx, &live, client.MergeFrom(before)))
}

// counted waits until the status of each schedule counts all PVCs, and these snapshots.
func (d *dataset) counted(ctx context.Context, snapshots int, schedules ...client.Object) {
	for _, s := range schedules {
		d.server.waitForStatus(ctx, client.ObjectKeyFromObject(s), len(d.claims), snapshots)
	}
}

// waitIdle waits until the status of the schedule counts the snapshots, and the operator is idle.
func (d *dataset) waitIdle(ctx context.Context, o *program, snapshots int) {
	ctx, cancel := o.WithContext(ctx)
	defer cancel()
	d.counted(ctx, snapshots, d.schedule)
	o.waitIdle(ctx)
}

// task is what happened between an order and the moment when the client was idle again.
type task struct {
	name string
	took time.Duration
	// rate is of the events of snapshots, from the first to the last.
	rate float64
	// Seconds: from the order to the first event, of the client's CPU, and of etcd's and kube-apiserver's CPU until the
	// last event.
	first, cpu, server float64
	requests           audit.Requests
}

// do gives an order and waits for events of snapshots, and then until the client has settled and is idle: its CPU
// includes what comes after the last event, such as the status.
func (d *dataset) do(
	ctx context.Context, p *program, event watch.EventType, events int, order func(), settled func(context.Context),
) (t task) {
	w, stop := d.server.watchSnapshots(ctx, d.schedule.Namespace)
	defer stop()
	ctx, cancel := p.WithContext(ctx)
	defer cancel()
	mark, before, used := d.server.mark(), d.server.cpu(), p.cpu()
	ordered := time.Now()
	order()
	w.wait(ctx, event, events)
	after := d.server.cpu()
	settled(ctx)
	p.waitIdle(ctx)
	t.took, t.cpu, t.server = time.Since(ordered), (p.cpu() - used).Seconds(), (after - before).Seconds()
	t.requests = d.server.since(mark)
	times := w.wait(ctx, event, events)
	if len(times) != events {
		must(fmt.Errorf("%d events %s instead of %d", len(times), event, events))
	}
	if events > 1 {
		t.first = times[0].Sub(ordered).Seconds()
		t.rate = float64(events-1) / times[events-1].Sub(times[0]).Seconds()
	}
	return t
}
