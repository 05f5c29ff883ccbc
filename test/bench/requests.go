// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// statusInterval is the operator's default.
const statusInterval = 5 * time.Second

// writes counts the writes of a resource, also those that failed: on a very busy machine the API server answers 504.
func (t task) writes(resource string) float64 {
	return float64(len(t.requests.Of(resource, "create", "update", "patch", "delete", "deletecollection")))
}

// requests counts the operator's requests when PVCs fall due and when nothing is due.
func requests(ctx context.Context, b *bench) {
	o := b.startOperator(ctx)
	defer b.stop(o)
	fresh, tick := b.firstSnapshots(ctx, o), b.tick(ctx, o)
	b.progressf("idle for %s", b.idle)
	idle := task{name: fmt.Sprintf("idle for %s", b.idle)}
	mark := b.server.mark()
	select {
	case <-time.After(b.idle):
	case <-ctx.Done():
		must(context.Cause(ctx))
	}
	idle.requests = b.server.since(mark)
	for _, t := range []task{fresh, tick} {
		b.result.add("API writes per snapshot, "+t.name, "", t.writes("volumesnapshots")/float64(b.claims)).must("=", 1)
		b.result.add(fmt.Sprintf("status writes, %s: at most one per %s", t.name, statusInterval), "", t.writes("snapshotschedules/status")).
			must("≤", 1+float64(t.took/statusInterval))
	}
	b.result.add("requests, "+idle.name+", except leases and watches", "", float64(len(idle.requests.Busy()))).must("=", 0)
	b.requestTable(fmt.Sprintf("%d PVCs", b.claims), fresh, tick, idle)
}

// firstSnapshots lets a new schedule take a snapshot of each PVC.
func (b *bench) firstSnapshots(ctx context.Context, o *program) task {
	d := b.newDataset(ctx, "fresh", b.claims, false)
	t := d.do(ctx, o, watch.Added, b.claims, func() { d.create(ctx) }, func(ctx context.Context) { d.counted(ctx, b.claims, d.schedule) })
	t.name = "a new schedule"
	return t
}

// tick lets a schedule take another snapshot of each PVC, when all others are ready.
func (b *bench) tick(ctx context.Context, o *program) task {
	d := b.newDataset(ctx, "tick", b.claims, true)
	d.waitIdle(ctx, o, b.claims)
	d.makeReady(ctx)
	o.waitIdle(ctx)
	t := d.do(ctx, o, watch.Added, b.claims, func() {
		d.patch(ctx, func(s *v1alpha1.SnapshotSchedule) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: time.Now().UTC().Format(time.RFC3339)}
		})
	}, func(ctx context.Context) { d.counted(ctx, 2*b.claims, d.schedule) })
	t.name = "a tick"
	return t
}

// makeReady sets the status of all snapshots, as the snapshot controllers do.
func (d *dataset) makeReady(ctx context.Context) {
	var all snapshotv1.VolumeSnapshotList
	must(d.server.client.List(ctx, &all, client.InNamespace(d.schedule.Namespace)))
	var objects []client.Object
	for i := range all.Items {
		o := &all.Items[i]
		o.Status, o.ResourceVersion = d.snapshot(d.claims[0], 0).Status, ""
		objects = append(objects, o)
	}
	d.server.put(ctx, objects...)
}

// requestTable counts requests by verb and resource, without those for leases.
func (b *bench) requestTable(title string, tasks ...task) {
	t := table{title: "Requests of the operator: " + title, header: []string{"request"}}
	kinds := map[string]bool{}
	var counts []map[string]int
	for _, task := range tasks {
		count := task.requests.Where(func(r audit.Request) bool { return r.Resource != "leases" }).Counts()
		t.header, counts = append(t.header, task.name), append(counts, count)
		for kind := range count {
			kinds[kind] = true
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := []string{kind}
		for _, count := range counts {
			row = append(row, strconv.Itoa(count[kind]))
		}
		t.rows = append(t.rows, row)
	}
	b.result.details = append(b.result.details, t)
}

// expiry shortens the TTL of a schedule so that many snapshots expire at once.
func expiry(ctx context.Context, b *bench) {
	each := max(1, b.expire/b.claims)
	n := each * b.claims
	b.progressf("write %d snapshots", n+b.claims)
	d := b.newDataset(ctx, "expiry", b.claims, true)
	d.write(ctx, 0, 1+each, true)
	o := b.startOperator(ctx, "--max-deletes-per-second=0")
	defer b.stop(o)
	d.waitIdle(ctx, o, n+b.claims)
	b.progressf("expire %d of them", n)
	done := d.do(ctx, o, watch.Deleted, n, func() {
		// All but the newest snapshot of a series are older than that.
		d.patch(ctx, func(s *v1alpha1.SnapshotSchedule) { s.Spec.SnapshotTTL = "2h" })
	}, func(ctx context.Context) { d.counted(ctx, b.claims, d.schedule) })
	done.name = fmt.Sprintf("%d of %d expired", n, n+b.claims)
	b.result.add("API writes per expired snapshot", "", done.writes("volumesnapshots")/float64(n)).must("=", 1)
	reads := done.requests.Where(func(r audit.Request) bool { return r.Verb == "get" && r.Resource != "leases" })
	b.result.add("live reads of the guards per expired snapshot", "", float64(len(reads))/float64(n))
	b.result.add(fmt.Sprintf("%d snapshots expire at once, no limit on deletes: a second", n), "/s", done.rate)
	b.result.add("the same: CPU per snapshot", "sec", done.cpu/float64(n))
	b.requestTable("expiry", done)
}
