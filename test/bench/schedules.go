// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
)

// manySchedules measures many schedules over the same PVCs.
func manySchedules(ctx context.Context, b *bench, srv *server.Server) error {
	if err := b.suspendedSchedules(ctx, srv); err != nil {
		return err
	}
	return b.schedulesBurst(ctx, srv)
}

// suspendedSchedules measures what schedules cost that select the same PVCs and create nothing.
func (b *bench) suspendedSchedules(ctx context.Context, srv *server.Server) error {
	d, err := newDataset(ctx, srv, "schedules", b.claims)
	if err != nil {
		return err
	}
	var all []client.Object
	for i := range b.schedules {
		s := server.Schedule(d.schedule.Namespace, fmt.Sprintf("%s-%03d", scheduleName, i), d.now.Add(-longAgo),
			v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval, Suspend: true})
		all = append(all, s)
	}
	if err := srv.Drop(ctx, d.schedule); err != nil {
		return err
	}
	d.schedule = all[0].(*v1alpha1.SnapshotSchedule)
	if err := srv.Put(ctx, all[0]); err != nil {
		return err
	}
	one, _, err := b.schedulesFootprint(ctx, d, all[:1])
	if err != nil {
		return err
	}
	if err := srv.Put(ctx, all...); err != nil {
		return err
	}
	full, change, err := b.schedulesFootprint(ctx, d, all)
	if err != nil {
		return err
	}
	pairs := float64(b.claims * (b.schedules - 1))
	heap := (full.heap - one.heap) / pairs
	b.row(report.Row{
		What:     fmt.Sprintf("%d suspended schedules over the same %d PVCs: heap per schedule and PVC", b.schedules, b.claims),
		Measured: fmt.Sprintf("%s (%s resident)", report.Bytes(heap), report.Bytes(float64(full.memory.Resident))),
		Values:   map[string]float64{"heap": heap, "resident": float64(full.memory.Resident)},
	})
	start := (full.cpu - one.cpu).Seconds() / pairs
	b.row(report.Row{
		What:     "the same: CPU of the first reconcile, per schedule and PVC",
		Measured: fmt.Sprintf("%.0f µs", 1e6*start), Values: map[string]float64{"measured": start},
	})
	b.row(report.Row{
		What:     fmt.Sprintf("the same: CPU when a PVC's labels change, for all %d schedules", b.schedules),
		Measured: ms(change), Values: map[string]float64{"measured": change.Seconds()},
	})
	return nil
}

// schedulesFootprint measures an operator with some schedules, and its CPU per PVC that changes.
func (b *bench) schedulesFootprint(ctx context.Context, d *dataset, schedules []client.Object) (f footprint, change time.Duration, err error) {
	o, err := b.startOperator(ctx, d.server)
	if err != nil {
		return f, 0, err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	for _, s := range schedules {
		if err := d.server.WaitForStatus(ctx, client.ObjectKeyFromObject(s), len(d.claims), 0); err != nil {
			return f, 0, err
		}
	}
	if err := o.WaitIdle(ctx); err != nil {
		return f, 0, err
	}
	if err := f.measure(ctx, o); err != nil {
		return f, 0, err
	}
	if err := o.WaitIdle(ctx); err != nil {
		return f, 0, err
	}
	change, err = o.UsedCPU(ctx, func(ctx context.Context) error {
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
	return f, change / time.Duration(b.newClaims), err
}

// schedulesBurst lets many schedules take one snapshot each of fewer PVCs.
func (b *bench) schedulesBurst(ctx context.Context, srv *server.Server) (err error) {
	const namespace = "schedules-due"
	claims := max(1, b.claims/10)
	if err := srv.Namespace(ctx, namespace); err != nil {
		return err
	}
	if err := seedClaims(ctx, srv, namespace, claims); err != nil {
		return err
	}
	o, err := b.startOperator(ctx, srv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	w, err := srv.WatchSnapshots(ctx, namespace)
	if err != nil {
		return err
	}
	defer w.Stop()
	total := claims * b.schedules
	b.progressf("%d schedules take a snapshot each of %d PVCs", b.schedules, claims)
	cpu, err := o.UsedCPU(ctx, func(ctx context.Context) error {
		var keys []client.ObjectKey
		for i := range b.schedules {
			s := server.Schedule(namespace, fmt.Sprintf("%s-%03d", scheduleName, i), time.Time{},
				v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
			if err := srv.Create(ctx, s); err != nil {
				return err
			}
			keys = append(keys, client.ObjectKeyFromObject(s))
		}
		if err := w.Wait(ctx, watch.Added, total); err != nil {
			return err
		}
		for _, key := range keys {
			if err := srv.WaitForStatus(ctx, key, claims, claims); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	memory, err := o.Memory()
	if err != nil {
		return err
	}
	each := cpu / time.Duration(total)
	b.row(report.Row{
		What: fmt.Sprintf("%d schedules × %d PVCs due at once", b.schedules, claims),
		Measured: fmt.Sprintf("%.0f /s, %s CPU per snapshot, %s resident", w.Rate(watch.Added), ms(each),
			report.Bytes(float64(memory.Resident))),
		Values: map[string]float64{"rate": w.Rate(watch.Added), "cpu": each.Seconds(), "resident": float64(memory.Resident)},
	})
	return nil
}
