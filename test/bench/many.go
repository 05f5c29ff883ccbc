// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// many puts many schedules over the same PVCs.
func many(ctx context.Context, b *bench, l *lab.Lab) error {
	if err := b.watchfulness(ctx, l); err != nil {
		return err
	}
	return b.manyBurst(ctx, l)
}

// watchfulness measures what it costs that many schedules have the same PVCs in view: they are
// suspended, so nothing is created.
func (b *bench) watchfulness(ctx context.Context, l *lab.Lab) error {
	e, err := newEstate(ctx, l, "many", b.claims)
	if err != nil {
		return err
	}
	var all []client.Object
	for i := range b.schedules {
		s := lab.Schedule(e.schedule.Namespace, fmt.Sprintf("%s-%03d", scheduleName, i), e.now.Add(-longAgo),
			v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval, Suspend: true})
		all = append(all, s)
	}
	if err := l.Drop(ctx, e.schedule); err != nil {
		return err
	}
	e.schedule = all[0].(*v1alpha1.SnapshotSchedule)
	if err := l.Put(ctx, all[0]); err != nil {
		return err
	}
	one, _, err := b.weighMany(ctx, e, all[:1])
	if err != nil {
		return err
	}
	if err := l.Put(ctx, all...); err != nil {
		return err
	}
	full, change, err := b.weighMany(ctx, e, all)
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
		What:     "the same: CPU of the first look, per schedule and PVC",
		Measured: fmt.Sprintf("%.0f µs", 1e6*start), Values: map[string]float64{"measured": start},
	})
	b.row(report.Row{
		What:     fmt.Sprintf("the same: CPU when a PVC's labels change, for all %d schedules", b.schedules),
		Measured: ms(change), Values: map[string]float64{"measured": change.Seconds()},
	})
	return nil
}

// weighMany weighs an operator with some schedules, and measures its CPU per PVC that changes.
func (b *bench) weighMany(ctx context.Context, e *estate, schedules []client.Object) (w weight, change time.Duration, err error) {
	p, err := b.working(ctx, e.lab)
	if err != nil {
		return w, 0, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	for _, s := range schedules {
		if err := e.lab.Settled(ctx, client.ObjectKeyFromObject(s), len(e.claims), 0); err != nil {
			return w, 0, err
		}
	}
	if err := p.Quiesce(ctx); err != nil {
		return w, 0, err
	}
	if err := w.now(ctx, p); err != nil {
		return w, 0, err
	}
	if err := p.Quiesce(ctx); err != nil {
		return w, 0, err
	}
	before, err := p.CPU()
	if err != nil {
		return w, 0, err
	}
	for i := range b.firsts {
		var claim corev1.PersistentVolumeClaim
		if err := e.lab.Client.Get(ctx, client.ObjectKeyFromObject(e.claims[i]), &claim); err != nil {
			return w, 0, err
		}
		claim.Labels["tier"] = "gold-" + time.Now().Format("150405.000000")
		if err := e.lab.Client.Update(ctx, &claim); err != nil {
			return w, 0, err
		}
	}
	if err := p.Quiesce(ctx); err != nil {
		return w, 0, err
	}
	after, err := p.CPU()
	return w, (after - before) / time.Duration(b.firsts), err
}

// manyBurst has many schedules take one snapshot each of fewer PVCs.
func (b *bench) manyBurst(ctx context.Context, l *lab.Lab) (err error) {
	const namespace = "many-due"
	claims := max(1, b.claims/10)
	if err := l.Namespace(ctx, namespace); err != nil {
		return err
	}
	if err := seedClaims(ctx, l, namespace, claims); err != nil {
		return err
	}
	p, err := b.working(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	w, err := l.WatchSnapshots(ctx, namespace)
	if err != nil {
		return err
	}
	defer w.Stop()
	before, err := p.CPU()
	if err != nil {
		return err
	}
	total := claims * b.schedules
	b.say("%d schedules take a snapshot each of %d PVCs", b.schedules, claims)
	var keys []client.ObjectKey
	for i := range b.schedules {
		s := lab.Schedule(namespace, fmt.Sprintf("%s-%03d", scheduleName, i), time.Time{},
			v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
		if err := l.Create(ctx, s); err != nil {
			return err
		}
		keys = append(keys, client.ObjectKeyFromObject(s))
	}
	alive, cancel := p.While(ctx)
	defer cancel()
	if err := w.Await(alive, lab.Added, total); err != nil {
		return err
	}
	for _, key := range keys {
		if err := l.Settled(alive, key, claims, claims); err != nil {
			return err
		}
	}
	if err := p.Quiesce(ctx); err != nil {
		return err
	}
	after, err := p.CPU()
	if err != nil {
		return err
	}
	memory, err := p.Memory()
	if err != nil {
		return err
	}
	each := (after - before) / time.Duration(total)
	b.row(report.Row{
		What: fmt.Sprintf("%d schedules × %d PVCs due at once", b.schedules, claims),
		Measured: fmt.Sprintf("%.0f /s, %s CPU per snapshot, %s resident", w.Rate(lab.Added), ms(each),
			report.Bytes(float64(memory.Resident))),
		Values: map[string]float64{"rate": w.Rate(lab.Added), "cpu": each.Seconds(), "resident": float64(memory.Resident)},
	})
	return nil
}
