// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

// statusInterval is the operator's default.
const statusInterval = 5 * time.Second

// writes counts the writes of a resource, also those that failed: on a very busy machine the API server answers 504.
func (t task) writes(resource string) float64 {
	return float64(len(t.requests.Of(resource, "create", "update", "patch", "delete", "deletecollection")))
}

// requests counts the operator's requests when PVCs fall due and when nothing is due.
func requests(ctx context.Context, b *bench, srv *server.Server) (err error) {
	o, err := b.startOperator(ctx, srv)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	fresh, err := b.firstSnapshots(ctx, srv, o)
	if err != nil {
		return err
	}
	tick, err := b.tick(ctx, srv, o)
	if err != nil {
		return err
	}
	b.progressf("idle for %s", b.idle)
	idle := task{name: fmt.Sprintf("idle for %s", b.idle)}
	idle.requests, err = srv.Requests(func() error {
		select {
		case <-time.After(b.idle):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	if err != nil {
		return err
	}
	for _, t := range []task{fresh, tick} {
		b.result.add("API writes per snapshot, "+t.name, "", t.writes("volumesnapshots")/float64(b.claims)).must("=", 1)
		b.result.add(fmt.Sprintf("status writes, %s: at most one per %s", t.name, statusInterval), "", t.writes("snapshotschedules/status")).
			must("≤", 1+float64(t.took/statusInterval))
	}
	b.result.add("requests, "+idle.name+", except leases and watches", "", float64(len(idle.requests.Busy()))).must("=", 0)
	b.requestTable(fmt.Sprintf("%d PVCs", b.claims), fresh, tick, idle)
	return nil
}

// firstSnapshots lets a new schedule take a snapshot of each PVC.
func (b *bench) firstSnapshots(ctx context.Context, srv *server.Server, o *server.Process) (t task, err error) {
	d, err := newDataset(ctx, srv, "fresh", b.claims, false)
	if err != nil {
		return t, err
	}
	t, err = d.do(ctx, o, watch.Added, b.claims, d.create(ctx), d.counted(b.claims))
	t.name = "a new schedule"
	return t, err
}

// tick lets a schedule take another snapshot of each PVC, when all others are ready.
func (b *bench) tick(ctx context.Context, srv *server.Server, o *server.Process) (t task, err error) {
	d, err := newDataset(ctx, srv, "tick", b.claims, true)
	if err != nil {
		return t, err
	}
	if err := d.waitIdle(ctx, o, b.claims); err != nil {
		return t, err
	}
	if err := d.makeReady(ctx); err != nil {
		return t, err
	}
	if err := o.WaitIdle(ctx); err != nil {
		return t, err
	}
	t, err = d.do(ctx, o, watch.Added, b.claims, d.patch(ctx, func(s *v1alpha1.SnapshotSchedule) {
		s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: time.Now().UTC().Format(time.RFC3339)}
	}), d.counted(2*b.claims))
	t.name = "a tick"
	return t, err
}

// makeReady sets the status of all snapshots, as the snapshot controllers do.
func (d *dataset) makeReady(ctx context.Context) error {
	var all snapshotv1.VolumeSnapshotList
	if err := d.server.Client.List(ctx, &all, client.InNamespace(d.schedule.Namespace)); err != nil {
		return err
	}
	var objects []client.Object
	for i := range all.Items {
		o := &all.Items[i]
		o.Status, o.ResourceVersion = d.snapshot(d.claims[0], 0).Status, ""
		objects = append(objects, o)
	}
	return d.server.Put(ctx, objects...)
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
func expiry(ctx context.Context, b *bench, srv *server.Server) (err error) {
	each := max(1, b.expire/b.claims)
	n := each * b.claims
	b.progressf("write %d snapshots", n+b.claims)
	d, err := newDataset(ctx, srv, "expiry", b.claims, true)
	if err != nil {
		return err
	}
	if err := d.write(ctx, 0, 1+each, true); err != nil {
		return err
	}
	o, err := b.startOperator(ctx, srv, "--max-deletes-per-second=0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	if err := d.waitIdle(ctx, o, n+b.claims); err != nil {
		return err
	}
	b.progressf("expire %d of them", n)
	// All but the newest snapshot of a series are older than that.
	shorten := d.patch(ctx, func(s *v1alpha1.SnapshotSchedule) { s.Spec.SnapshotTTL = "2h" })
	done, err := d.do(ctx, o, watch.Deleted, n, shorten, d.counted(b.claims))
	if err != nil {
		return err
	}
	done.name = fmt.Sprintf("%d of %d expired", n, n+b.claims)
	b.result.add("API writes per expired snapshot", "", done.writes("volumesnapshots")/float64(n)).must("=", 1)
	reads := done.requests.Where(func(r audit.Request) bool { return r.Verb == "get" && r.Resource != "leases" })
	b.result.add("live reads of the guards per expired snapshot", "", float64(len(reads))/float64(n))
	b.result.add(fmt.Sprintf("%d snapshots expire at once, no limit on deletes: a second", n), "/s", done.rate)
	b.result.add("the same: CPU per snapshot", "sec", done.cpu/float64(n))
	b.requestTable("expiry", done)
	return nil
}
