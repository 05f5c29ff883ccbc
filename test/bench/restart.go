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
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
)

// restarts starts operators while one snapshot is due, and bare lists of the same objects, in turns. It returns
// the footprint of the last operator.
func (b *bench) restarts(ctx context.Context, d *dataset, total int) (last footprint, err error) {
	due := d.claims[len(d.claims)/2]
	if err := d.server.Drop(ctx, d.snapshot(due, 0)); err != nil {
		return last, err
	}
	var starts, lists []startup
	for round := range min(3, b.rounds) {
		list, err := b.bareList(ctx, d.server)
		if err != nil {
			return last, err
		}
		start, w, err := b.firstDue(ctx, d, due, total)
		if err != nil {
			return last, err
		}
		b.progressf("%d snapshots, round %d: bare list after %.2f s, first due snapshot after %.2f s; CPU until then %.2f s, %.2f s",
			total, round+1, list.after.Seconds(), start.after.Seconds(), list.cpu.Seconds(), start.cpu.Seconds())
		starts, lists, last = append(starts, start), append(lists, list), w
	}
	b.restartRows(total, starts, lists)
	return last, nil
}

// startup is the time and CPU of a program from its start until it reached its goal.
type startup struct{ after, cpu time.Duration }

func (b *bench) restartRows(total int, starts, lists []startup) {
	compare := func(what string, of func(startup) time.Duration) (report.Row, float64) {
		middle := func(all []startup) float64 {
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
		func(a startup) time.Duration { return a.after })
	b.row(took.AtMost(ratio, 1.5, "1.5 ×"))
	used, _ := compare("the same: CPU of the client until then", func(a startup) time.Duration { return a.cpu })
	b.row(used)
}

func (b *bench) bareList(ctx context.Context, srv *server.Server) (list startup, err error) {
	c, err := srv.StartBareList(ctx, b.manifest)
	if err != nil {
		return list, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err := c.Wait(); err != nil {
		return list, err
	}
	list.after = time.Since(c.Started)
	list.cpu, err = c.CPU()
	return list, err
}

// firstDue starts an operator and waits for the one snapshot that is due. It returns the operator's footprint once
// it is idle, and removes the snapshot.
func (b *bench) firstDue(
	ctx context.Context, d *dataset, due *corev1.PersistentVolumeClaim, total int,
) (start startup, f footprint, err error) {
	o, start, err := b.startDue(ctx, d, due)
	if err != nil {
		return start, f, err
	}
	defer func() { err = errors.Join(err, o.Stop(), dropNewest(ctx, d.server, due)) }()
	if err := d.waitIdle(ctx, o, total); err != nil {
		return start, f, err
	}
	f.claims, f.snapshots = len(d.claims), total
	err = f.measure(ctx, o)
	return start, f, err
}

// startDue starts an operator and waits for the one snapshot that is due. With an error the operator has been stopped.
func (b *bench) startDue(ctx context.Context, d *dataset, due *corev1.PersistentVolumeClaim) (o *server.Operator, start startup, err error) {
	w, err := d.server.WatchSnapshots(ctx, due.Namespace)
	if err != nil {
		return nil, start, err
	}
	defer w.Stop()
	if o, err = d.server.StartOperator(ctx, b.operator, b.manifest); err != nil {
		return nil, start, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Stop())
		}
	}()
	alive, cancel := o.WithContext(ctx)
	defer cancel()
	if err := w.Wait(alive, watch.Added, 1); err != nil {
		return o, start, err
	}
	start.after = w.Times(watch.Added)[0].Sub(o.Started)
	start.cpu, err = o.CPU()
	return o, start, err
}

// dropNewest removes the snapshot of a PVC that the operator has just created.
func dropNewest(ctx context.Context, srv *server.Server, claim *corev1.PersistentVolumeClaim) error {
	var all snapshotv1.VolumeSnapshotList
	err := srv.Client.List(ctx, &all, client.InNamespace(claim.Namespace),
		client.MatchingLabels{v1alpha1.LabelMapKey: string(claim.UID)})
	if err != nil {
		return err
	}
	for i := range all.Items {
		if all.Items[i].Status == nil {
			if err := srv.Drop(ctx, &all.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
