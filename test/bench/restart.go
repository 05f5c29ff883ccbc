// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

// restarts starts operators where one snapshot is due, and bare lists of the same objects, in turns.
// It weighs the last operator.
func (b *bench) restarts(ctx context.Context, e *estate, total int) (last weight, err error) {
	late := e.claims[len(e.claims)/2]
	if err := e.lab.Drop(ctx, e.snapshot(late, 0)); err != nil {
		return last, err
	}
	var starts, lists []arrival
	for round := range min(3, b.rounds) {
		list, err := b.bareList(ctx, e.lab)
		if err != nil {
			return last, err
		}
		start, w, err := b.firstDue(ctx, e, late, total)
		if err != nil {
			return last, err
		}
		b.say("%d snapshots, round %d: bare list after %.2f s, first due snapshot after %.2f s; CPU until then %.2f s, %.2f s",
			total, round+1, list.after.Seconds(), start.after.Seconds(), list.cpu.Seconds(), start.cpu.Seconds())
		starts, lists, last = append(starts, start), append(lists, list), w
	}
	b.restartRows(total, starts, lists)
	return last, nil
}

// arrival is how long after its start a program got somewhere, and its CPU until then.
type arrival struct{ after, cpu time.Duration }

func (b *bench) restartRows(total int, starts, lists []arrival) {
	compare := func(what string, of func(arrival) time.Duration) (report.Row, float64) {
		middle := func(all []arrival) float64 {
			var values []time.Duration
			for _, one := range all {
				values = append(values, of(one))
			}
			return report.Median(values).Seconds()
		}
		start, list := middle(starts), middle(lists)
		return report.Row{
			What:     what,
			Measured: fmt.Sprintf("%.2f s", start), Limit: fmt.Sprintf("%.2f s (paged list)", list),
			Ratio:  fmt.Sprintf("%.2f ×", start/list),
			Values: map[string]float64{"measured": start, "bare": list, "ratio": start / list},
		}, start / list
	}
	took, ratio := compare(fmt.Sprintf("restart with %d snapshots: to the first due one", total),
		func(a arrival) time.Duration { return a.after })
	b.row(took.AtMost(ratio, 1.5, "1.5 ×"))
	used, _ := compare("the same: CPU of the client until then", func(a arrival) time.Duration { return a.cpu })
	b.row(used)
}

func (b *bench) bareList(ctx context.Context, l *lab.Lab) (list arrival, err error) {
	p, err := l.StartBareList(ctx, b.manifest)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	if err := p.Done(); err != nil {
		return list, err
	}
	list.after = time.Since(p.Started)
	list.cpu, err = p.CPU()
	return list, err
}

// firstDue starts an operator, and takes it as arrived when the one snapshot that is due is there.
// The operator is weighed when it rests, and the snapshot removed.
func (b *bench) firstDue(
	ctx context.Context, e *estate, late *corev1.PersistentVolumeClaim, total int,
) (start arrival, w weight, err error) {
	seen, err := e.lab.WatchSnapshots(ctx, late.Namespace)
	if err != nil {
		return start, w, err
	}
	defer seen.Stop()
	p, err := e.lab.StartOperator(ctx, b.operator, b.manifest)
	if err != nil {
		return start, w, err
	}
	defer func() { err = errors.Join(err, p.Stop(), forget(ctx, e.lab, late)) }()
	alive, cancel := p.While(ctx)
	defer cancel()
	if err := seen.Await(alive, lab.Added, 1); err != nil {
		return start, w, err
	}
	start.after = seen.Times(lab.Added)[0].Sub(p.Started)
	if start.cpu, err = p.CPU(); err != nil {
		return start, w, err
	}
	if err := e.rest(ctx, p, total); err != nil {
		return start, w, err
	}
	w.claims, w.snapshots = len(e.claims), total
	err = w.now(ctx, p)
	return start, w, err
}

// forget removes what the operator has just created of a PVC.
func forget(ctx context.Context, l *lab.Lab, claim *corev1.PersistentVolumeClaim) error {
	var all snapshotv1.VolumeSnapshotList
	err := l.Client.List(ctx, &all, client.InNamespace(claim.Namespace),
		client.MatchingLabels{v1alpha1.LabelMapKey: string(claim.UID)})
	if err != nil {
		return err
	}
	for i := range all.Items {
		if all.Items[i].Status == nil {
			if err := l.Drop(ctx, &all.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
