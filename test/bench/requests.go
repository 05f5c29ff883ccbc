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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
	"mapcontroller.dev/snapshotschedule/test/internal/audit"
)

const (
	snapshotsResource = "volumesnapshots"
	statusResource    = "snapshotschedules/status"
	// statusInterval is the operator's default.
	statusInterval = 5 * time.Second
)

var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// phase is a stretch of time with the requests of the operator in it.
type phase struct {
	name     string
	took     time.Duration
	requests audit.Requests
}

// counted runs a function and returns the requests meanwhile.
func counted(srv *server.Server, name string, do func() error) (phase, error) {
	mark, err := srv.Audit.Mark()
	if err != nil {
		return phase{}, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return phase{}, err
	}
	took := time.Since(began)
	requests, err := srv.Audit.Since(mark)
	return phase{name: name, took: took, requests: requests}, err
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
	idle, err := counted(srv, fmt.Sprintf("idle for %s", b.idle), func() error { return sleep(ctx, b.idle) })
	if err != nil {
		return err
	}
	for _, ph := range []phase{fresh, tick} {
		writes := float64(len(ph.requests.Of(snapshotsResource, writeVerbs...))) / float64(b.claims)
		b.row(report.Row{
			What: "API writes per snapshot, " + ph.name, Measured: ratioText(writes) + failures(ph.requests),
			Values: map[string]float64{"measured": writes},
		}.Exactly(writes, 1, "1"))
		status := float64(len(ph.requests.Of(statusResource, writeVerbs...)))
		most := 1 + float64(ph.took/statusInterval)
		b.row(report.Row{
			What:     fmt.Sprintf("status writes, %s (%.1f s)", ph.name, ph.took.Seconds()),
			Measured: strconv.Itoa(int(status)), Values: map[string]float64{"measured": status},
		}.AtMost(status, most, fmt.Sprintf("%.0f: one per %s", most, statusInterval)))
	}
	busy := float64(len(idle.requests.Busy()))
	b.row(report.Row{
		What: "requests, " + idle.name + ", except leases and watches", Measured: strconv.Itoa(int(busy)),
		Values: map[string]float64{"measured": busy},
	}.Exactly(busy, 0, "none"))
	b.detail(requestTable(fmt.Sprintf("Requests of the operator: %d PVCs", b.claims), fresh, tick, idle))
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// firstSnapshots lets a new schedule take a snapshot of each PVC.
func (b *bench) firstSnapshots(ctx context.Context, srv *server.Server, o *server.Operator) (phase, error) {
	const namespace = "fresh"
	if err := srv.Namespace(ctx, namespace); err != nil {
		return phase{}, err
	}
	if err := seedClaims(ctx, srv, namespace, b.claims); err != nil {
		return phase{}, err
	}
	schedule := server.Schedule(namespace, scheduleName, time.Time{}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
	return counted(srv, "a new schedule", func() error {
		if err := srv.Create(ctx, schedule); err != nil {
			return err
		}
		return errors.Join(srv.WaitForStatus(ctx, client.ObjectKeyFromObject(schedule), b.claims, b.claims), o.WaitIdle(ctx))
	})
}

// tick lets a schedule take another snapshot of each PVC, when all others are ready.
func (b *bench) tick(ctx context.Context, srv *server.Server, o *server.Operator) (phase, error) {
	d, err := newDataset(ctx, srv, "tick", b.claims)
	if err != nil {
		return phase{}, err
	}
	if err := d.waitIdle(ctx, o, b.claims); err != nil {
		return phase{}, err
	}
	if err := d.makeReady(ctx); err != nil {
		return phase{}, err
	}
	if err := o.WaitIdle(ctx); err != nil {
		return phase{}, err
	}
	return counted(srv, "a tick", func() error {
		err := d.patch(ctx, func(s *v1alpha1.SnapshotSchedule) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: time.Now().UTC().Format(time.RFC3339)}
		})
		if err != nil {
			return err
		}
		return d.waitIdle(ctx, o, 2*b.claims)
	})
}

// makeReady sets the status of all snapshots, as the snapshot controllers do.
func (d *dataset) makeReady(ctx context.Context) error {
	var all snapshotv1.VolumeSnapshotList
	if err := d.server.Client.List(ctx, &all, client.InNamespace(d.schedule.Namespace)); err != nil {
		return err
	}
	status := d.snapshot(d.claims[0], 0).Status
	seed := d.server.Seed(ctx)
	for i := range all.Items {
		o := &all.Items[i]
		o.Status, o.ResourceVersion = status, ""
		seed.Put(o)
	}
	return seed.Close()
}

// requestTable counts requests by verb and resource, without those for leases.
func requestTable(title string, phases ...phase) report.Table {
	t := report.Table{Title: title, Header: []string{"request"}}
	kinds := map[string]int{}
	var counts []map[string]int
	for _, ph := range phases {
		t.Header = append(t.Header, ph.name)
		count := ph.requests.Where(func(r audit.Request) bool { return r.Resource != "leases" }).Counts()
		counts = append(counts, count)
		maps.Copy(kinds, count)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := []string{kind}
		for _, count := range counts {
			row = append(row, strconv.Itoa(count[kind]))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		t.Rows = [][]string{append([]string{"none"}, make([]string, len(phases))...)}
	}
	return t
}

// failures reports writes that failed: a busy API server answers 504, and a write that is repeated may have
// succeeded before.
func failures(requests audit.Requests) string {
	failed := requests.Of(snapshotsResource, writeVerbs...).Where(audit.Request.Failed)
	if len(failed) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d failed)", len(failed))
}

func ratioText(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
