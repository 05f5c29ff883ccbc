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
	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
)

const (
	snapshotsResource = "volumesnapshots"
	statusResource    = "snapshotschedules/status"
	// statusInterval is the operator's default.
	statusInterval = 5 * time.Second
)

var writeVerbs = []string{"create", "update", "patch", "delete", "deletecollection"}

// phase is what the operator asked for in some time.
type phase struct {
	name     string
	took     time.Duration
	requests lab.Requests
}

// counted counts the requests of what is done.
func counted(l *lab.Lab, name string, do func() error) (phase, error) {
	mark, err := l.Audit.Mark()
	if err != nil {
		return phase{}, err
	}
	begun := time.Now()
	if err := do(); err != nil {
		return phase{}, err
	}
	took := time.Since(begun)
	requests, err := l.Audit.Since(mark)
	return phase{name: name, took: took, requests: requests}, err
}

// requests counts what the operator asks of the API server when PVCs fall due and when they don't.
func requests(ctx context.Context, b *bench, l *lab.Lab) (err error) {
	p, err := b.working(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Stop()) }()
	fresh, err := b.firstSnapshots(ctx, l, p)
	if err != nil {
		return err
	}
	tick, err := b.tick(ctx, l, p)
	if err != nil {
		return err
	}
	b.say("nothing to do for %s", b.idle)
	idle, err := counted(l, fmt.Sprintf("idle for %s", b.idle), func() error { return sleep(ctx, b.idle) })
	if err != nil {
		return err
	}
	for _, ph := range []phase{fresh, tick} {
		writes := float64(ph.requests.Of(snapshotsResource, writeVerbs...)) / float64(b.claims)
		b.row(report.Row{
			What: "API writes per snapshot, " + ph.name, Measured: ratioText(writes) + failures(ph.requests),
			Values: map[string]float64{"measured": writes},
		}.Exactly(writes, 1, "1"))
		status := float64(ph.requests.Of(statusResource, writeVerbs...))
		most := 1 + float64(ph.took/statusInterval)
		b.row(report.Row{
			What:     fmt.Sprintf("status writes, %s (%.1f s)", ph.name, ph.took.Seconds()),
			Measured: strconv.Itoa(int(status)), Values: map[string]float64{"measured": status},
		}.AtMost(status, most, fmt.Sprintf("%.0f: one per %s", most, statusInterval)))
	}
	busy := float64(idle.requests.Busy())
	b.row(report.Row{
		What: "requests, " + idle.name + ", but leases and watches", Measured: strconv.Itoa(int(busy)),
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

// firstSnapshots has a new schedule take one of each PVC.
func (b *bench) firstSnapshots(ctx context.Context, l *lab.Lab, p *lab.Process) (phase, error) {
	const namespace = "fresh"
	if err := l.Namespace(ctx, namespace); err != nil {
		return phase{}, err
	}
	if err := seedClaims(ctx, l, namespace, b.claims); err != nil {
		return phase{}, err
	}
	schedule := lab.Schedule(namespace, scheduleName, time.Time{}, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
	return counted(l, "a new schedule", func() error {
		if err := l.Create(ctx, schedule); err != nil {
			return err
		}
		return errors.Join(l.Settled(ctx, client.ObjectKeyFromObject(schedule), b.claims, b.claims), p.Quiesce(ctx))
	})
}

// tick has a schedule take one more snapshot of each PVC, where all that there are are ready.
func (b *bench) tick(ctx context.Context, l *lab.Lab, p *lab.Process) (phase, error) {
	e, err := newEstate(ctx, l, "tick", b.claims)
	if err != nil {
		return phase{}, err
	}
	if err := e.rest(ctx, p, b.claims); err != nil {
		return phase{}, err
	}
	if err := e.makeReady(ctx); err != nil {
		return phase{}, err
	}
	if err := p.Quiesce(ctx); err != nil {
		return phase{}, err
	}
	return counted(l, "a tick", func() error {
		err := e.patch(ctx, func(s *v1alpha1.SnapshotSchedule) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: time.Now().UTC().Format(time.RFC3339)}
		})
		if err != nil {
			return err
		}
		return e.rest(ctx, p, 2*b.claims)
	})
}

// makeReady does what the snapshot controllers would do.
func (e *estate) makeReady(ctx context.Context) error {
	var all snapshotv1.VolumeSnapshotList
	if err := e.lab.Client.List(ctx, &all, client.InNamespace(e.schedule.Namespace)); err != nil {
		return err
	}
	full := e.snapshot(e.claims[0], 0)
	s := e.lab.Seed(ctx)
	for i := range all.Items {
		o := &all.Items[i]
		o.TypeMeta, o.Status = full.TypeMeta, full.Status
		o.ResourceVersion = ""
		s.Put(o)
	}
	return s.Close()
}

// requestTable shows requests by verb and resource, leases left out.
func requestTable(title string, phases ...phase) report.Table {
	t := report.Table{Title: title, Header: []string{"request"}}
	all := map[string]lab.Request{}
	for _, ph := range phases {
		t.Header = append(t.Header, ph.name)
		for r := range ph.requests {
			if r.Resource != "leases" {
				all[r.String()] = r
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row := []string{name}
		for _, ph := range phases {
			row = append(row, strconv.Itoa(ph.requests[all[name]]))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) == 0 {
		t.Rows = [][]string{append([]string{"none"}, make([]string, len(phases))...)}
	}
	return t
}

// failures tells of writes that came to nothing: an API server that has too much to do answers 504,
// and what is tried again may have been done already.
func failures(requests lab.Requests) string {
	n := 0
	for r, count := range requests {
		if r.Resource == snapshotsResource && r.Failed != 0 && slices.Contains(writeVerbs, r.Verb) {
			n += count
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d failed)", n)
}

func ratioText(n float64) string { return strconv.FormatFloat(n, 'g', 4, 64) }
