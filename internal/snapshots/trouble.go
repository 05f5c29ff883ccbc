// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// troubles returns what is wrong with the snapshots of a PVC that can be
// snapshotted. A failed create is added later (report.go).
func troubles(p *compiled, snapshots []retention.Snapshot, slots schedule.Slots, t retention.Take, now time.Time) []Problem {
	var found []Problem
	deadline := p.retention.ReadyDeadline
	if i := retention.Newest(snapshots, now); i >= 0 && failed(&snapshots[i], now, deadline) {
		return append(found, Problem{
			Reason: v1alpha1.ReasonSnapshotFailed,
			Message: fmt.Sprintf("VolumeSnapshot %s is not ready %s after it was created; its status says why",
				snapshots[i].Name, deadline),
		})
	}
	if t.Due && t.Block == retention.BlockedInProgress && !snapshots[t.Blocker].Uncut() {
		found = append(found, Problem{
			Reason: v1alpha1.ReasonSnapshotSlow,
			Message: fmt.Sprintf("VolumeSnapshot %s is cut but not ready, and the next one waits for it",
				snapshots[t.Blocker].Name),
		})
	}
	if overdue(p, snapshots, slots, now) && !t.Create() {
		message := "no snapshot was taken for a whole slot"
		if t.Due && t.Block != retention.NotBlocked {
			message += fmt.Sprintf("; VolumeSnapshot %s blocks it", snapshots[t.Blocker].Name)
			if snapshots[t.Blocker].Deleting {
				message += ", being deleted"
			}
		}
		found = append(found, Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: message})
	}
	return found
}

// unready counts the snapshots that are not ready.
func unready(p *compiled, snapshots []retention.Snapshot, now time.Time) (pending, failed int) {
	for i := range snapshots {
		switch s := &snapshots[i]; {
		case s.ReadyToUse:
		case s.State(now, p.retention.ReadyDeadline) == retention.Failed:
			failed++
		default:
			pending++
		}
	}
	return pending, failed
}

// failed returns whether a snapshot failed. One that is being deleted to be
// replaced still counts: nothing has improved yet.
func failed(s *retention.Snapshot, now time.Time, readyDeadline time.Duration) bool {
	state := s.State(now, readyDeadline)
	return state == retention.Failed ||
		state == retention.Terminating && s.Uncut() && !now.Before(s.Created.Add(readyDeadline))
}

// failsAt returns when the newest snapshot fails if it is uncut and being deleted.
// Retention does not consider such a snapshot.
func failsAt(p *compiled, snapshots []retention.Snapshot, now time.Time) time.Time {
	i := retention.Newest(snapshots, now)
	if i < 0 || !snapshots[i].Deleting || !snapshots[i].Uncut() {
		return time.Time{}
	}
	return snapshots[i].Created.Add(p.retention.ReadyDeadline)
}

// overdue returns whether the slot before the latest is not covered. One whose
// snapshot would have expired since cannot be judged any more.
func overdue(p *compiled, snapshots []retention.Snapshot, slots schedule.Slots, now time.Time) bool {
	if slots.Previous.IsZero() || retention.Covered(snapshots, slots.Previous, now) {
		return false
	}
	return p.retention.TTL == 0 || now.Before(slots.Previous.Add(p.retention.TTL))
}
