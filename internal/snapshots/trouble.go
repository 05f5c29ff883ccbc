// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// troubles returns what is wrong with the snapshots of a PVC, or a group, that can be
// snapshotted. A failed create is added later (report.go).
func troubles(p *compiled, of whose, snapshots []retention.Snapshot, slots schedule.Slots, t retention.Take, now time.Time) []Problem {
	var found []Problem
	deadline := p.retention.ReadyDeadline
	if i := retention.Newest(snapshots, now); i >= 0 && failed(&snapshots[i], now, deadline) {
		message := fmt.Sprintf("%s %s is not ready %s after it was created", of.noun, snapshots[i].Name, deadline)
		if !snapshots[i].HasError { // else that is a problem of its own
			message += silentMessage
		}
		return append(found, Problem{Reason: v1alpha1.ReasonSnapshotFailed, Message: message + of.describe(snapshots[i].Name)})
	}
	if t.Block == retention.BlockedInProgress && !snapshots[t.Blocker].Uncut() && slotWaits(snapshots, slots, t, now) {
		found = append(found, Problem{
			Reason: v1alpha1.ReasonSnapshotSlow,
			Message: fmt.Sprintf("%s %s is cut but not ready, and the next one waits for it"+silentMessage+"%s",
				of.noun, snapshots[t.Blocker].Name, of.describe(snapshots[t.Blocker].Name)),
		})
	}
	if overdue(p, snapshots, slots, t, now) {
		message := overdueMessage
		if t.Block == retention.NotBlocked {
			message += "; to take one now: " + of.request()
		} else {
			message += fmt.Sprintf("; %s %s blocks it", of.noun, snapshots[t.Blocker].Name)
			if snapshots[t.Blocker].Deleting {
				message += ", being deleted"
			}
			message += of.describe(snapshots[t.Blocker].Name)
		}
		found = append(found, Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: message})
	}
	return found
}

// whose says of which kind snapshots are, and of which PVC; of a group, claim is empty. ofFleet is set if only the requests
// of the ClusterSnapshotSchedule of the schedule's name count.
type whose struct {
	noun, namespace, schedule, claim string
	ofFleet                          bool
}

// request returns the command that has a snapshot taken.
func (w whose) request() string {
	switch {
	case w.ofFleet:
		return fmt.Sprintf("kubectl snapsched snapshot --cluster-schedule='%s'", w.schedule)
	case w.claim == "":
		return fmt.Sprintf("kubectl snapsched snapshot -n '%s' '%s'", w.namespace, w.schedule)
	}
	return fmt.Sprintf("kubectl snapsched snapshot -n '%s' --pvc='%s'", w.namespace, w.claim)
}

// describe returns the command that shows the events of a snapshot.
func (w whose) describe(name string) string {
	return fmt.Sprintf(": kubectl describe -n '%s' %s '%s'", w.namespace, strings.ToLower(w.noun), name)
}

// silentMessage is of a snapshot that failed, or does not become ready, without an error.
const silentMessage = ", and no error is reported; the logs of the snapshot controller and of the driver's csi-snapshotter may say why"

const overdueMessage = "no snapshot was taken for a whole slot"

// slotWaits returns whether a slot has no snapshot, also if it may not be taken any
// more: with a TTL shorter than the interval, what blocks it would otherwise be a
// problem for a part of each interval only.
func slotWaits(snapshots []retention.Snapshot, slots schedule.Slots, t retention.Take, now time.Time) bool {
	return t.Due || (!slots.Latest.IsZero() && !retention.Covered(snapshots, slots.Latest, now))
}

// unready counts the snapshots that are not ready.
func unready(p *compiled, snapshots []retention.Snapshot, now time.Time) (pending, failed, terminating int32) {
	for i := range snapshots {
		switch snapshots[i].State(now, p.retention.ReadyDeadline) {
		case retention.Ready:
		case retention.Terminating:
			terminating++
		case retention.Failed:
			failed++
		default:
			pending++
		}
	}
	return pending, failed, terminating
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

// overdue returns whether the slot before the latest is not covered. Without a
// floor, and with nothing in the way, one that was taken since may have expired.
func overdue(p *compiled, snapshots []retention.Snapshot, slots schedule.Slots, t retention.Take, now time.Time) bool {
	if slots.Previous.IsZero() || retention.Covered(snapshots, slots.Previous, now) {
		return false
	}
	until := expiryHides(p, slots, t)
	return until.IsZero() || now.Before(until)
}

// expiryHides returns when it can no longer be known whether a PVC is overdue;
// zero if it always can. The floor keeps the newest ready snapshot, and what
// blocks shows that none was taken.
func expiryHides(p *compiled, slots schedule.Slots, t retention.Take) time.Time {
	if p.retention.TTL == 0 || p.retention.MinReady > 0 || t.Block != retention.NotBlocked {
		return time.Time{}
	}
	return slots.Previous.Add(p.retention.TTL)
}
