// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// observed is what rules read.
type observed struct {
	program *program
	of      *subject
	seen    mapcontroller.Observation

	// The rest is of a subject of which snapshots are taken. refused says why none can be: there is no class, for example.
	refused Problem
	volumes []volume
	// said is what the driver says, and errorDue is when the next error becomes a problem.
	said     *said
	errorDue time.Time
	// drills are those that failed.
	drills []Problem
}

func (o *observed) readyDeadline() time.Duration { return o.program.spec.retention.ReadyDeadline }

// newest returns the newest snapshot, if there is one, and whether it failed.
func (o *observed) newest() (newest *retention.Snapshot, fails bool) {
	series := o.of.backups.Whole.Snapshots
	i := retention.Newest(series, o.seen.Now)
	if i < 0 {
		return nil, false
	}
	return &series[i], failed(&series[i], o.seen.Now, o.readyDeadline())
}

// slotWaits returns whether a slot has no snapshot, also if it may not be taken any
// more: with a TTL shorter than the interval, what blocks it would otherwise be a
// problem for a part of each interval only.
func (o *observed) slotWaits() bool {
	latest := o.of.slots.Latest
	return o.of.decided.Take.Due || (!latest.IsZero() && !retention.Covered(o.of.backups.Whole.Snapshots, latest, o.seen.Now))
}

// overdue returns whether the slot before the latest is not covered, and nothing else says why. Without a
// floor, and with nothing in the way, one that was taken since may have expired.
func (o *observed) overdue() bool {
	previous := o.of.slots.Previous
	if o.refused.Reason != "" || previous.IsZero() || retention.Covered(o.of.backups.Whole.Snapshots, previous, o.seen.Now) {
		return false
	}
	until := o.expiryHides()
	_, failed := o.newest()
	return !failed && (until.IsZero() || o.seen.Now.Before(until))
}

// expiryHides returns when it can no longer be known whether a PVC is overdue;
// zero if it always can. The floor keeps the newest ready snapshot, and what
// blocks shows that none was taken.
func (o *observed) expiryHides() time.Time {
	policy := &o.program.spec.retention
	if policy.TTL == 0 || policy.MinReady > 0 || o.of.decided.Take.Block != retention.NotBlocked {
		return time.Time{}
	}
	return o.of.slots.Previous.Add(policy.TTL)
}

// request returns the command that has a snapshot taken.
func (o *observed) request() string {
	if s, from := o.program.schedule, o.program.from; from.owned || o.of.group != "" {
		return requestOf(s, from)
	}
	return fmt.Sprintf("kubectl snapsched snapshot -n '%s' --pvc='%s'", o.program.schedule.Namespace, o.of.claims[0].Name)
}

// requestOf returns the command that requests snapshots of a schedule. Of the child of a ClusterSnapshotSchedule, only the requests of
// that count.
func requestOf(s *v1alpha1.SnapshotSchedule, from origin) string {
	if from.owned {
		return fmt.Sprintf("kubectl snapsched snapshot --cluster-schedule='%s'", s.Name)
	}
	return fmt.Sprintf("kubectl snapsched snapshot -n '%s' '%s'", s.Namespace, s.Name)
}

// describe returns the command that shows the events of a snapshot.
func (o *observed) describe(name string) string {
	return fmt.Sprintf(": kubectl describe -n '%s' %s '%s'", o.program.schedule.Namespace, strings.ToLower(o.of.noun()), name)
}

// claimName is the name of a PVC, which the snapshots alone may have; empty for a group.
func (o *observed) claimName() string {
	b := &o.of.backups
	if b.ofGroup {
		return ""
	}
	for _, all := range [...][]client.Object{o.seen.Unselected, o.seen.Selected} {
		if len(all) > 0 {
			return all[len(all)-1].GetName()
		}
	}
	if len(b.outputs) > 0 {
		return backup.ClaimName(b.outputs[0])
	}
	return ""
}

// stuckAfter is the age from which a delete is stuck.
func (p *program) stuckAfter() time.Duration {
	return min(max(p.spec.retention.ReadyDeadline, stuckSoonest), stuckLatest)
}

// stuck returns the snapshots with data whose deletes the storage does not finish, and when another one is.
func (p *program) stuck(b *backups, now time.Time) (stuck []client.Object, next time.Time) {
	for i, o := range b.outputs {
		at := o.GetDeletionTimestamp()
		if at == nil || b.Whole.Snapshots[i].Uncut() {
			continue
		}
		if due := at.Add(p.stuckAfter()); now.Before(due) {
			next = earliest(next, due)
		} else {
			stuck = append(stuck, o)
		}
	}
	return stuck, next
}

const (
	// maxDeleting is how many snapshots of a series with data may be terminating when retention
	// deletes another one. What a storage does not finish to delete can be neither restored nor
	// deleted: the rest stays as it is.
	maxDeleting = 10
	// A delete is stuck after readyDeadline, within these bounds.
	stuckSoonest = time.Minute
	stuckLatest  = time.Hour
)

// places returns how many snapshots of a series with data may be deleted now, whoever deleted
// those that are terminating.
func places(series []retention.Snapshot) int {
	n := maxDeleting
	for i := range series {
		if s := &series[i]; s.Deleting && !s.Uncut() {
			n--
		}
	}
	return max(0, n)
}

// takesPlace returns whether a delete needs a place: one without data costs the storage nothing, and
// something waits for one that keeps its PVC.
func takesPlace(s *retention.Snapshot, v retention.Verdict) bool {
	return !s.Uncut() && v != retention.KeepsClaim
}
