// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// errorPatience is the age from which the error of a snapshot is a problem: drivers report
// errors that pass while they cut.
const errorPatience = 2 * time.Minute

// driverError is what a driver says about a snapshot that is not ready.
type driverError struct {
	snapshot position
	text     string
	// since is when the problem was first known, if it is of a status that an earlier process
	// wrote: then only the name of the snapshot is known.
	since time.Time
}

// position is the place of a snapshot in its series.
type position struct {
	name          string
	slot, created time.Time
}

func positionOf(s *retention.Snapshot, now time.Time) position {
	return position{s.Name, s.Slot(now), s.Created}
}

func (p position) compare(q position) int {
	return cmp.Or(p.slot.Compare(q.slot), p.created.Compare(q.created), strings.Compare(p.name, q.name))
}

// said is what the driver says about the snapshots of a PVC.
type said struct {
	// error is that of the newest snapshot in error that no ready one follows; nil if there is none.
	error *driverError
	// erring is set if any snapshot is in error.
	erring bool
	// ready is the newest ready snapshot; without a name, there is none.
	ready position
}

// saidOf returns what the snapshots of a PVC show of its driver's errors, and when the next error
// becomes a problem. Imported snapshots are no work of the driver's.
func saidOf(outputs []client.Object, series []retention.Snapshot, deadline time.Duration, now time.Time) (k *said, next time.Time) {
	k = &said{}
	if i := retention.NewestReady(series, now); i >= 0 {
		k.ready = positionOf(&series[i], now)
	}
	for i := range series {
		s := &series[i]
		if !s.HasError || s.ReadyToUse || s.Imported {
			continue
		}
		k.erring = true
		at := positionOf(s, now)
		if at.compare(k.ready) < 0 {
			continue
		}
		if due := s.Created.Add(errorPatience); now.Before(due) && !failed(s, now, deadline) {
			next = earliest(next, due)
			continue
		}
		if k.error == nil || k.error.snapshot.compare(at) < 0 {
			k.error = &driverError{snapshot: at, text: backup.DriverError(outputs[i])}
		}
	}
	return k, next
}

// failed returns whether a snapshot failed. One that is being deleted to be
// replaced still counts: nothing has improved yet.
func failed(s *retention.Snapshot, now time.Time, readyDeadline time.Duration) bool {
	state := s.State(now, readyDeadline)
	return state == retention.Failed ||
		state == retention.Terminating && s.Uncut() && !now.Before(s.Created.Add(readyDeadline))
}
