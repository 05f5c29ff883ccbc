// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/report"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
)

// crowd is how many schedules there are in how many namespaces. Each has b.claims/10
// PVCs of its own with b.snapshotsPerClaim snapshots.
type crowd struct{ namespaces, schedules int }

// crowdMemory is the memory limit of the operator, which as shipped is for a tenth of
// the snapshots.
const crowdMemory = 4 << 30

// million measures an operator with a million snapshots: its start, at rest, and when one part of them falls due,
// expires, or is no longer selected.
func million(ctx context.Context, b *bench, srv *server.Server) (err error) {
	all, err := b.writeCrowd(ctx, srv)
	if err != nil {
		return err
	}
	b.manifest.Env = append(slices.Clone(b.manifest.Env), fmt.Sprintf("MEMORY_LIMIT=%d", crowdMemory))
	last := all[len(all)-1]
	due := last.claims[0]
	if err := srv.Drop(ctx, last.snapshot(due, 0)); err != nil {
		return err
	}
	list, err := b.bareList(ctx, srv)
	if err != nil {
		return err
	}
	b.progressf("bare list after %.0f s with %.0f s of CPU", list.after.Seconds(), list.cpu.Seconds())
	o, start, err := b.startDue(ctx, last, due)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Stop()) }()
	b.progressf("first due snapshot after %.0f s with %.0f s of CPU", start.after.Seconds(), start.cpu.Seconds())
	b.restartRows(len(all)*len(last.claims)*b.snapshotsPerClaim, []startup{start}, []startup{list})
	for _, step := range []func(context.Context, *server.Server, *server.Operator, []*dataset) error{
		b.crowdFootprint, b.crowdAtRest, b.crowdTasks, b.relabel,
	} {
		if err := step(ctx, srv, o, all); err != nil {
			return err
		}
	}
	return b.crowdServer(srv)
}

// writeCrowd writes PVCs, schedules and snapshots.
func (b *bench) writeCrowd(ctx context.Context, srv *server.Server) (all []*dataset, err error) {
	for n := range b.crowd.namespaces {
		namespace := fmt.Sprintf("crowd-%02d", n)
		if err := srv.Namespace(ctx, namespace); err != nil {
			return nil, err
		}
		for i := range b.crowd.schedules {
			d, err := newTeam(ctx, srv, namespace, fmt.Sprintf("team-%d", i), max(1, b.claims/10))
			if err != nil {
				return nil, err
			}
			if err := d.write(ctx, 0, b.snapshotsPerClaim, deletable); err != nil {
				return nil, err
			}
			all = append(all, d)
		}
		b.progressf("namespace %d of %d written", n+1, b.crowd.namespaces)
	}
	return all, nil
}

// newTeam writes one of several schedules of a namespace, and the PVCs that it selects.
func newTeam(ctx context.Context, srv *server.Server, namespace, team string, claims int) (*dataset, error) {
	d := &dataset{server: srv, now: time.Now().Truncate(time.Second)}
	seed := srv.Seed(ctx)
	for i := range claims {
		claim := server.Claim(namespace, team+"-"+claimName(i), d.now.Add(-longAgo))
		claim.Labels[teamLabel] = team
		d.claims = append(d.claims, claim)
		seed.Put(claim)
	}
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval}
	spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{teamLabel: v1alpha1.LabelValue(team)}
	d.schedule = server.Schedule(namespace, team, d.now.Add(-longAgo), spec)
	seed.Put(d.schedule)
	return d, seed.Close()
}

const teamLabel = "team"

// crowdFootprint measures the operator once it is idle after its start.
func (b *bench) crowdFootprint(ctx context.Context, srv *server.Server, o *server.Operator, all []*dataset) error {
	alive, cancel := o.WithContext(ctx)
	defer cancel()
	claims := len(all[0].claims)
	for _, d := range all {
		if err := srv.WaitForStatus(alive, d.key(), claims, claims*b.snapshotsPerClaim); err != nil {
			return err
		}
	}
	if err := o.WaitIdle(ctx); err != nil {
		return err
	}
	var f footprint
	if err := f.measure(ctx, o); err != nil {
		return err
	}
	b.row(report.Row{
		What:     fmt.Sprintf("%d schedules × %d PVCs × %d snapshots", len(all), claims, b.snapshotsPerClaim),
		Measured: fmt.Sprintf("%s resident (peak %s), %s of live heap", report.Bytes(float64(f.memory.Resident)), report.Bytes(float64(f.memory.Peak)), report.Bytes(f.heap)),
		Values:   map[string]float64{"resident": float64(f.memory.Resident), "peak": float64(f.memory.Peak), "heap": f.heap},
	})
	return nil
}

func (b *bench) crowdAtRest(ctx context.Context, _ *server.Server, o *server.Operator, _ []*dataset) error {
	b.progressf("at rest for %s", b.idle)
	before, err := o.CPU()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(b.idle):
	}
	after, err := o.CPU()
	hour := (after - before).Seconds() * float64(time.Hour) / float64(b.idle)
	b.row(report.Row{
		What: "the same: CPU of an hour at rest", Measured: fmt.Sprintf("%.0f s", hour), Values: map[string]float64{"seconds": hour},
	})
	return err
}

// crowdTasks lets snapshots of ten schedules fall due, and then as many expire.
func (b *bench) crowdTasks(ctx context.Context, srv *server.Server, o *server.Operator, all []*dataset) error {
	some := all[:min(len(all), 10)]
	claims, each := len(some[0].claims), len(some[0].claims)*b.snapshotsPerClaim
	for _, task := range []struct {
		what  string
		event watch.EventType
		// snapshots each schedule has afterwards
		snapshots int
		change    func(*v1alpha1.SnapshotSchedule)
	}{
		{"due", watch.Added, each + claims, func(s *v1alpha1.SnapshotSchedule) {
			s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: time.Now().UTC().Format(time.RFC3339)}
		}},
		{"expired", watch.Deleted, each, func(s *v1alpha1.SnapshotSchedule) {
			s.Spec.SnapshotTTL = v1alpha1.Duration(fmt.Sprintf("%dd", b.snapshotsPerClaim-1))
		}},
	} {
		total := claims * len(some)
		b.progressf("%d snapshots %s", total, task.what)
		w, err := srv.WatchSnapshots(ctx, namespaces(some)...)
		if err != nil {
			return err
		}
		cpu, err := o.UsedCPU(ctx, func(ctx context.Context) error {
			for _, d := range some {
				if err := d.patch(ctx, task.change); err != nil {
					return err
				}
			}
			if err := w.Wait(ctx, task.event, total); err != nil {
				return err
			}
			for _, d := range some {
				if err := srv.WaitForStatus(ctx, d.key(), claims, task.snapshots); err != nil {
					return err
				}
			}
			return nil
		})
		w.Stop()
		if err != nil {
			return err
		}
		b.row(report.Row{
			What:     fmt.Sprintf("the same: %d snapshots %s at once", total, task.what),
			Measured: fmt.Sprintf("%.0f/s, %s CPU each", w.Rate(task.event), ms(cpu/time.Duration(total))),
			Values:   map[string]float64{"rate": w.Rate(task.event), "cpu": cpu.Seconds() / float64(total)},
		})
	}
	return nil
}

func namespaces(all []*dataset) (names []string) {
	for _, d := range all {
		names = append(names, d.schedule.Namespace)
	}
	return slices.Compact(names)
}

// relabel takes the PVCs of the last namespace away from their schedules.
func (b *bench) relabel(ctx context.Context, srv *server.Server, o *server.Operator, all []*dataset) error {
	some := all[len(all)-b.crowd.schedules:]
	total := len(some) * len(some[0].claims)
	b.progressf("%d PVCs are relabeled", total)
	begun := time.Now()
	var took time.Duration
	cpu, err := o.UsedCPU(ctx, func(ctx context.Context) error {
		for _, d := range some {
			for _, claim := range d.claims {
				claim.Labels[teamLabel] = "none"
				if err := srv.Put(ctx, claim); err != nil {
					return err
				}
			}
		}
		for _, d := range some {
			if err := srv.WaitForStatus(ctx, d.key(), 0, len(d.claims)*b.snapshotsPerClaim); err != nil {
				return err
			}
		}
		took = time.Since(begun)
		return nil
	})
	b.row(report.Row{
		What:     fmt.Sprintf("the same: the %d PVCs of a namespace are relabeled", total),
		Measured: fmt.Sprintf("%.1f s until status shows it, %s CPU each", took.Seconds(), ms(cpu/time.Duration(total))),
		Values:   map[string]float64{"seconds": took.Seconds(), "cpu": cpu.Seconds() / float64(total)},
	})
	return err
}

// crowdServer shows what so many snapshots cost the API server and etcd.
func (b *bench) crowdServer(srv *server.Server) error {
	etcd, apiserver, err := srv.Memory()
	if err != nil {
		return err
	}
	b.row(report.Row{
		What: "the same: kube-apiserver, without its watch cache, and etcd",
		Measured: fmt.Sprintf("%s and %s resident (peak %s and %s)", report.Bytes(float64(apiserver.Resident)), report.Bytes(float64(etcd.Resident)),
			report.Bytes(float64(apiserver.Peak)), report.Bytes(float64(etcd.Peak))),
		Values: map[string]float64{"apiserver": float64(apiserver.Resident), "etcd": float64(etcd.Resident)},
	})
	return nil
}
