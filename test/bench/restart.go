/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
	var starts, lists, cpus []time.Duration
	for round := range min(3, b.rounds) {
		list, err := b.bareListTime(ctx, e.lab)
		if err != nil {
			return last, err
		}
		start, w, err := b.startTime(ctx, e, late, total)
		if err != nil {
			return last, err
		}
		b.say("%d snapshots, round %d: bare list %.2f s, first due snapshot %.2f s after the start",
			total, round+1, list.Seconds(), start.Seconds())
		starts, lists, cpus, last = append(starts, start), append(lists, list), append(cpus, w.cpu), w
	}
	last.cpu = report.Median(cpus)
	start, list := report.Median(starts), report.Median(lists)
	ratio := start.Seconds() / list.Seconds()
	b.row(report.Row{
		What:     fmt.Sprintf("restart with %d snapshots: to the first due one", total),
		Measured: fmt.Sprintf("%.2f s", start.Seconds()), Limit: fmt.Sprintf("%.2f s (paged list)", list.Seconds()),
		Ratio:  fmt.Sprintf("%.2f ×", ratio),
		Values: map[string]float64{"measured": start.Seconds(), "bare": list.Seconds(), "ratio": ratio},
	}.AtMost(ratio, 1.5, "1.5 ×"))
	return last, nil
}

func (b *bench) bareListTime(ctx context.Context, l *lab.Lab) (took time.Duration, err error) {
	p, err := l.StartBareList(ctx, b.manifest)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	err = p.Done()
	return time.Since(p.Started), err
}

// startTime is from the start of the program until the one snapshot that is due is there. The
// snapshot is removed afterwards.
func (b *bench) startTime(
	ctx context.Context, e *estate, late *corev1.PersistentVolumeClaim, total int,
) (took time.Duration, w weight, err error) {
	seen, err := e.lab.WatchSnapshots(ctx, late.Namespace)
	if err != nil {
		return 0, w, err
	}
	defer seen.Stop()
	p, err := e.lab.StartOperator(ctx, b.operator, b.manifest)
	if err != nil {
		return 0, w, err
	}
	defer func() { err = errors.Join(err, p.Stop(), forget(ctx, e.lab, late)) }()
	alive, cancel := p.While(ctx)
	defer cancel()
	if err := seen.Await(alive, lab.Added, 1); err != nil {
		return 0, w, err
	}
	took = seen.Times(lab.Added)[0].Sub(p.Started)
	if err := e.rest(ctx, p, total); err != nil {
		return 0, w, err
	}
	w.claims, w.snapshots = len(e.claims), total
	err = w.now(ctx, p)
	return took, w, err
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
