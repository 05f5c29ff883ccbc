// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/bench/internal/server"
)

const (
	// interval is that of every schedule. The newest slot of a dataset was an hour ago, so nothing falls due
	// while something else is measured.
	interval     = v1alpha1.Duration("1d")
	intervalTime = 24 * time.Hour
	sinceSlot    = time.Hour
	// longAgo is the age of PVCs and schedules: older than the longest series.
	longAgo = 120*intervalTime + sinceSlot
	// expiring is a TTL that all but the newest snapshot of a series have reached.
	expiring = v1alpha1.Duration("2h")
)

// dataset is a namespace with PVCs and a schedule that has taken snapshots of them.
type dataset struct {
	server   *server.Server
	now      time.Time
	schedule *v1alpha1.SnapshotSchedule
	claims   []*corev1.PersistentVolumeClaim
}

// newDataset writes PVCs and a schedule, without snapshots.
func newDataset(ctx context.Context, srv *server.Server, namespace string, claims int) (*dataset, error) {
	if err := srv.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	d := &dataset{server: srv, now: time.Now().Truncate(time.Second)}
	seed := srv.Seed(ctx)
	for i := range claims {
		claim := server.Claim(namespace, claimName(i), d.now.Add(-longAgo))
		d.claims = append(d.claims, claim)
		seed.Put(claim)
	}
	d.schedule = server.Schedule(namespace, scheduleName, d.now.Add(-longAgo), v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
	seed.Put(d.schedule)
	return d, seed.Close()
}

func (d *dataset) key() client.ObjectKey { return client.ObjectKeyFromObject(d.schedule) }

// snapshot returns the snapshot of a PVC for the slot so many slots ago.
func (d *dataset) snapshot(claim *corev1.PersistentVolumeClaim, slotsAgo int) *snapshotv1.VolumeSnapshot {
	return server.Snapshot(d.schedule, claim, d.now.Add(-sinceSlot-time.Duration(slotsAgo)*intervalTime))
}

// write writes the snapshots of all PVCs for a range of slots, counted from the newest. change may be nil.
func (d *dataset) write(ctx context.Context, from, to int, change func(*snapshotv1.VolumeSnapshot)) error {
	seed := d.server.Seed(ctx)
	for slotsAgo := from; slotsAgo < to; slotsAgo++ {
		for _, claim := range d.claims {
			snapshot := d.snapshot(claim, slotsAgo)
			if change != nil {
				change(snapshot)
			}
			seed.Put(snapshot)
		}
	}
	return seed.Close()
}

// deletable removes the finalizers, because there is no snapshot controller to do it.
func deletable(s *snapshotv1.VolumeSnapshot) { s.Finalizers = nil }

// patch changes the schedule as a user does.
func (d *dataset) patch(ctx context.Context, change func(*v1alpha1.SnapshotSchedule)) error {
	var live v1alpha1.SnapshotSchedule
	if err := d.server.Client.Get(ctx, d.key(), &live); err != nil {
		return err
	}
	before := live.DeepCopy()
	change(&live)
	return d.server.Client.Patch(ctx, &live, client.MergeFrom(before))
}

// startOperator starts the operator and waits until it works and is idle.
func (b *bench) startOperator(ctx context.Context, srv *server.Server, flags ...string) (*server.Operator, error) {
	o, err := srv.StartOperator(ctx, b.operator, b.manifest, flags...)
	if err != nil {
		return nil, err
	}
	if err := srv.WaitWorking(ctx, o); err != nil {
		_ = o.Stop()
		return nil, err
	}
	return o, nil
}

// waitIdle waits until the status of the schedule counts the snapshots, and the operator is idle.
func (d *dataset) waitIdle(ctx context.Context, o *server.Operator, snapshots int) error {
	ctx, cancel := o.WithContext(ctx)
	defer cancel()
	if err := d.server.WaitForStatus(ctx, d.key(), len(d.claims), snapshots); err != nil {
		return err
	}
	return o.WaitIdle(ctx)
}
