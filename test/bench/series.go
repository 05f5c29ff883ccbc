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
	"mapcontroller.dev/snapshotschedule/test/bench/internal/lab"
)

const (
	// interval is that of every schedule. What is seeded was taken an hour ago and a whole number
	// of intervals before, so nothing falls due while something else is measured.
	interval     = v1alpha1.Duration("1d")
	intervalTime = 24 * time.Hour
	sinceSlot    = time.Hour
	// longAgo is when PVCs and schedules were created: before the longest series.
	longAgo = 120*intervalTime + sinceSlot
	// expiring is a TTL that only the newest snapshot of a series is younger than.
	expiring = v1alpha1.Duration("2h")
)

// estate is a namespace with PVCs and a schedule that has taken snapshots of them for long.
type estate struct {
	lab      *lab.Lab
	now      time.Time
	schedule *v1alpha1.SnapshotSchedule
	claims   []*corev1.PersistentVolumeClaim
}

// newEstate plans an estate, and writes its PVCs and its schedule.
func newEstate(ctx context.Context, l *lab.Lab, namespace string, claims int) (*estate, error) {
	if err := l.Namespace(ctx, namespace); err != nil {
		return nil, err
	}
	e := &estate{lab: l, now: time.Now().Truncate(time.Second)}
	s := l.Seed(ctx)
	for i := range claims {
		claim := lab.Claim(namespace, claimName(i), e.now.Add(-longAgo))
		e.claims = append(e.claims, claim)
		s.Put(claim)
	}
	e.schedule = lab.Schedule(namespace, scheduleName, e.now.Add(-longAgo), v1alpha1.SnapshotScheduleSpec{SnapshotInterval: interval})
	s.Put(e.schedule)
	return e, s.Close()
}

func (e *estate) key() client.ObjectKey { return client.ObjectKeyFromObject(e.schedule) }

// snapshot is the one that was taken of a PVC some slots ago.
func (e *estate) snapshot(claim *corev1.PersistentVolumeClaim, slotsAgo int) *snapshotv1.VolumeSnapshot {
	return lab.Snapshot(e.schedule, claim, e.now.Add(-sinceSlot-time.Duration(slotsAgo)*intervalTime))
}

// take writes the snapshots of all PVCs for some slots, from the latest but so many on, back to
// another. change, if set, is made to each.
func (e *estate) take(ctx context.Context, from, to int, change func(*snapshotv1.VolumeSnapshot)) error {
	s := e.lab.Seed(ctx)
	for slotsAgo := from; slotsAgo < to; slotsAgo++ {
		for _, claim := range e.claims {
			snapshot := e.snapshot(claim, slotsAgo)
			if change != nil {
				change(snapshot)
			}
			s.Put(snapshot)
		}
	}
	return s.Close()
}

// deletable takes the finalizers away: there is no snapshot controller to do it.
func deletable(s *snapshotv1.VolumeSnapshot) { s.Finalizers = nil }

// patch changes the schedule as a user would.
func (e *estate) patch(ctx context.Context, change func(*v1alpha1.SnapshotSchedule)) error {
	var live v1alpha1.SnapshotSchedule
	if err := e.lab.Client.Get(ctx, e.key(), &live); err != nil {
		return err
	}
	before := live.DeepCopy()
	change(&live)
	return e.lab.Client.Patch(ctx, &live, client.MergeFrom(before))
}

// working starts the operator and waits until it has looked at everything.
func (b *bench) working(ctx context.Context, l *lab.Lab, flags ...string) (*lab.Process, error) {
	p, err := l.StartOperator(ctx, b.operator, b.manifest, flags...)
	if err != nil {
		return nil, err
	}
	if err := l.Works(ctx, p); err != nil {
		_ = p.Stop()
		return nil, err
	}
	return p, nil
}

// rest waits until the status of the estate's schedule counts so many snapshots, and the operator
// has nothing left to do.
func (e *estate) rest(ctx context.Context, p *lab.Process, snapshots int) error {
	ctx, cancel := p.While(ctx)
	defer cancel()
	if err := e.lab.Settled(ctx, e.key(), len(e.claims), snapshots); err != nil {
		return err
	}
	return p.Quiesce(ctx)
}
