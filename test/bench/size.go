// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/bareclient"
	"mapcontroller.dev/snapshotschedule/test/internal/process"
)

// footprint is the memory and CPU of an operator that has reconciled everything.
type footprint struct {
	claims, snapshots int
	memory            process.Memory
	heap              float64
	// cpu is seconds since the start.
	cpu float64
}

// sizes measures operators with more and more snapshots of the same PVCs, and restarts with the most.
func sizes(ctx context.Context, b *bench) {
	all := []footprint{b.footprint(ctx, &dataset{}, 0)}
	d := b.newDataset(ctx, "size", b.claims, true)
	written := 0
	grow := func(each int) {
		b.progressf("write snapshots, %d in all", each*b.claims)
		d.write(ctx, written, each, false)
		written = max(written, each)
	}
	for _, each := range []int{max(1, b.snapshotsPerClaim/2), b.snapshotsPerClaim, 2 * b.snapshotsPerClaim} {
		grow(each)
		all = append(all, b.footprint(ctx, d, each*b.claims))
	}
	grow(b.restart / b.claims)
	b.sizeRows(append(all, b.restarts(ctx, d, written*b.claims)))
}

// footprint starts an operator and measures it once it is idle.
func (b *bench) footprint(ctx context.Context, d *dataset, snapshots int) footprint {
	o := b.startOperator(ctx)
	defer b.stop(o)
	if d.schedule != nil {
		d.waitIdle(ctx, o, snapshots)
	}
	return measure(o, len(d.claims), snapshots)
}

// measure reads the footprint of an operator. Reading the live heap allocates, so it comes last.
func measure(o *program, claims, snapshots int) footprint {
	f := footprint{claims: claims, snapshots: snapshots, cpu: o.cpu().Seconds(), memory: o.memory()}
	f.heap = o.liveHeap()
	return f
}

// sizeRows gets the footprints without PVCs, with three numbers of snapshots, and of the restart.
func (b *bench) sizeRows(all []footprint) {
	m := fitModel(all)
	b.result.add(fmt.Sprintf("resident memory, %d PVCs × %d snapshots", b.claims, b.snapshotsPerClaim), "B", float64(all[2].memory.Resident)).
		must("≤", 120e6)
	b.result.add(fmt.Sprintf("heap per further snapshot, %d to %d of them", all[1].snapshots, all[len(all)-1].snapshots), "B", m.perSnapshot).
		must("≤", 1200)
	b.result.add("heap per further PVC", "B", m.perClaim)
	t := table{
		title:  "Memory and CPU of the operator after a start",
		header: []string{"PVCs", "snapshots", "resident", "peak", "resident without files", "live heap", "CPU of the start"},
	}
	for _, f := range all {
		t.rows = append(t.rows, []string{
			strconv.Itoa(f.claims), strconv.Itoa(f.snapshots), text("B", float64(f.memory.Resident)), text("B", float64(f.memory.Peak)),
			text("B", float64(f.memory.Anonymous)), text("B", f.heap), text("sec", f.cpu),
		})
	}
	b.result.details = append(b.result.details, t, m.table())
}

// model predicts what an operator needs. It is linear: every snapshot and every PVC adds the same.
type model struct {
	// Bytes of live heap.
	empty, perClaim, perSnapshot float64
	// perByte is the resident memory per byte of live heap at the peak of a start, with garbage.
	perByte float64
	// start is seconds of CPU per snapshot.
	start float64
}

// fitModel fits a model to footprints, the first of which is without PVCs: by least squares to the others.
func fitModel(all []footprint) model {
	first, last := all[0], all[len(all)-1]
	var n, x, y, xx, xy float64
	for _, f := range all[1:] {
		s := float64(f.snapshots)
		n, x, y, xx, xy = n+1, x+s, y+f.heap, xx+s*s, xy+s*f.heap
	}
	slope := (n*xy - x*y) / (n*xx - x*x)
	files := last.memory.Resident - last.memory.Anonymous
	return model{
		empty: first.heap, perSnapshot: slope, perClaim: ((y-slope*x)/n - first.heap) / float64(last.claims),
		perByte: float64(last.memory.Peak-files) / last.heap, start: (last.cpu - first.cpu) / float64(last.snapshots),
	}
}

// table predicts what some clusters need, most of them larger than what can be measured.
func (m model) table() table {
	t := table{
		title:  "What clusters need, calculated",
		header: []string{"PVCs", "snapshots of each", "snapshots", "live heap", "memory limit", "CPU of a start", "writes an hour, if each PVC has one a day"},
	}
	const each = 40
	for _, claims := range []int{100, 1000, 2500, 10_000, 25_000, 100_000} {
		snapshots := each * claims
		heap := m.empty + float64(claims)*m.perClaim + float64(snapshots)*m.perSnapshot
		// A quarter above the peak, in steps of 64 MiB.
		limit := 64 * math.Ceil(1.25*m.perByte*heap/(64<<20))
		t.rows = append(t.rows, []string{
			strconv.Itoa(claims), strconv.Itoa(each), strconv.Itoa(snapshots), text("B", heap), fmt.Sprintf("%.0f MiB", limit),
			fmt.Sprintf("%.0f s", float64(snapshots)*m.start),
			// A create and, once the oldest snapshots expire, a delete.
			fmt.Sprintf("%.0f", math.Ceil(2*float64(claims)/24)),
		})
	}
	return t
}

// startup is the seconds and CPU seconds of a program from its start until it reached its goal.
type startup struct{ after, cpu float64 }

// restarts starts operators while one snapshot is due, and bare lists of the same objects, in turns. It returns
// the footprint of the last operator.
func (b *bench) restarts(ctx context.Context, d *dataset, total int) (last footprint) {
	due := d.claims[len(d.claims)/2]
	d.server.drop(ctx, d.snapshot(due, 0))
	var starts, lists []startup
	for round := range min(3, b.rounds) {
		list := b.bareList(ctx)
		start, f := b.firstDue(ctx, d, due, total)
		d.dropNewest(ctx, due)
		b.progressf("%d snapshots, round %d: bare list after %s, first due snapshot after %s", total, round+1,
			text("sec", list.after), text("sec", start.after))
		starts, lists, last = append(starts, start), append(lists, list), f
	}
	after, cpu := func(s startup) float64 { return s.after }, func(s startup) float64 { return s.cpu }
	b.result.compare(fmt.Sprintf("restart with %d snapshots: to the first due one (bare: a paged list)", total), "sec",
		each(starts, after), each(lists, after)).must("≤", 1.5)
	b.result.compare("the same: CPU of the client until then", "sec", each(starts, cpu), each(lists, cpu))
	return last
}

func (b *bench) bareList(ctx context.Context) startup {
	c := b.startBare(ctx, bareclient.List)
	defer b.stop(c)
	must(c.Expect(bareclient.Done))
	return startup{after: time.Since(c.Started).Seconds(), cpu: c.cpu().Seconds()}
}

// firstDue starts an operator and waits for the one snapshot that is due. It returns the operator's footprint once
// it is idle.
func (b *bench) firstDue(ctx context.Context, d *dataset, due *corev1.PersistentVolumeClaim, total int) (startup, footprint) {
	w, stop := d.server.watchSnapshots(ctx, due.Namespace)
	defer stop()
	o := b.startProgram(ctx)
	defer b.stop(o)
	alive, cancel := o.WithContext(ctx)
	defer cancel()
	start := startup{after: w.wait(alive, watch.Added, 1)[0].Sub(o.Started).Seconds(), cpu: o.cpu().Seconds()}
	d.waitIdle(ctx, o, total)
	f := measure(o, len(d.claims), total)
	return start, f
}

// dropNewest removes the snapshot of a PVC that the operator has just created.
func (d *dataset) dropNewest(ctx context.Context, claim *corev1.PersistentVolumeClaim) {
	var all snapshotv1.VolumeSnapshotList
	must(d.server.client.List(ctx, &all, client.InNamespace(claim.Namespace),
		client.MatchingLabels{v1alpha1.LabelMapKey: string(claim.UID)}))
	for i := range all.Items {
		if all.Items[i].Status == nil {
			d.server.drop(ctx, &all.Items[i])
		}
	}
}
