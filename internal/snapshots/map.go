// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// restoreCheck is how often a snapshot is checked that would be deleted but for a
// PVC that is being restored from it.
const restoreCheck = time.Minute

// clockCheck is how often a series is checked that has a slot which the API
// server's clock had not nearly reached: the local clock was ahead, and may be
// right again by now, which no event and no timer shows.
const clockCheck = 15 * time.Minute

// decider decides about a key, and returns what it has decided about.
type decider func(mapcontroller.Observation) (mapcontroller.Decision, *subject)

// decision decides about a key for the engine.
func (f decider) decision(seen mapcontroller.Observation) mapcontroller.Decision {
	d, _ := f(seen)
	return d
}

// mapKey decides which snapshots a selected PVC, or a group of selected PVCs, should have.
func (p *program) mapKey(seen mapcontroller.Observation) (mapcontroller.Decision, *subject) {
	if p.schedule.Spec.Group != nil && !backup.IsGroupKey(seen.MapKey) {
		return p.mapUngrouped(seen)
	}
	of := p.subjectOf(seen)
	class := p.choose(of, seen)
	storage := p.classesIn(seen).capacityOf(class.limit)
	volumes := p.fill(of, &class, storage, seen)
	of.limited = len(volumes) > 0
	wait := p.from.awaitsRecord(of.slots.Current, seen.Now)
	if class.takes() && wait.IsZero() { // else one that failed has no replacement
		if wait = p.unsettled(of, seen); wait.IsZero() {
			of.backups.Whole.Slot = of.slots.Current
		}
	}
	d, kept := p.retire(of, seen)
	if of.decided.Take.Create() {
		d.Ensure = append(d.Ensure, p.desired(of, &class, seen.Now))
	}
	if seen.Confirms {
		return d, of
	}
	d.Next = earliest(d.Next, of.slots.Next, of.slots.Until, wait)

	status := p.statusOf(of, kept, seen.Now)
	d.Status = status
	o := observed{program: p, of: of, seen: seen}
	d.Next = earliest(d.Next, status.find(rules, o))
	if !status.skip(class.skipped) {
		status.ofDriver = storage.problem()
		o.refused, o.volumes = class.refused, volumes
		o.said, o.errorDue = saidOf(of.backups.outputs, of.backups.Whole.Snapshots, p.spec.retention.ReadyDeadline, seen.Now)
		status.addSlot(&o, &class)
		o.drills, wait = p.addParts(status, of, seen.Now)
		d.Next = earliest(d.Next, wait, status.find(rulesWhileTaken, o))
	}
	return d, of
}

// fill finds out whether the volumes of a subject have a place for a snapshot, and returns them.
func (p *program) fill(of *subject, class *choice, storage capacity, seen mapcontroller.Observation) []volume {
	storage.guessed = class.guessed
	b, volumes := &of.backups, volumesOf(of.claims, storage, seen)
	b.Whole.VolumeFull = slices.ContainsFunc(volumes, func(v volume) bool { return v.full() }) &&
		p.classesIn(seen).proven(class.limit, class.named, b.outputs, oldestOf(of.claims))
	return volumes
}

// addSlot adds what becomes of the slot, and what the driver says.
func (k *keyStatus) addSlot(o *observed, class *choice) {
	slots, create := o.of.slots, o.of.decided.Take.Create()
	k.NextSlot, k.retained, k.said = slots.Next, class.retained, o.said
	k.due = !create && isDue(slots, o.of.backups.Whole.Snapshots, o.seen.Now)
	k.noPlace = create && slices.ContainsFunc(o.volumes, func(v volume) bool { return v.full() })
	if create {
		k.pending = &pendingSlot{slot: slots.Current, driver: class.limit, guessed: class.guessed}
	} else if k.LastSnapshot.Before(slots.Dropped) {
		k.pending = &pendingSlot{slot: slots.Dropped, late: true}
	}
	k.overdue = create && o.overdue()
}

// mapUngrouped decides about a PVC that is selected and belongs to no group. Its own snapshots are of an earlier spec: they are
// detached, and protect it as long as they are there.
func (p *program) mapUngrouped(seen mapcontroller.Observation) (mapcontroller.Decision, *subject) {
	of := p.subjectOf(seen)
	of.backups.Whole.Claim, of.slots = retention.Unselected, schedule.Slots{}
	d, kept := p.retire(of, seen)
	if seen.Confirms {
		return d, of
	}
	status, o := p.statusOf(of, kept, seen.Now), observed{program: p, of: of, seen: seen}
	d.Status, d.Next = status, earliest(d.Next, status.find(rules, o))
	class := p.choose(of, seen)
	if o.refused = class.refused; !status.skip(class.skipped) {
		var until time.Time
		o.drills, until = p.addParts(status, of, seen.Now)
		d.Next = earliest(d.Next, until, status.find(rulesOfUngrouped, o))
	}
	return d, of
}

// isDue returns whether the current slot has no snapshot, also if a problem or another snapshot is in the way.
func isDue(slots schedule.Slots, series []retention.Snapshot, now time.Time) bool {
	return !slots.Current.IsZero() && !slots.Current.After(now) && !retention.Covered(series, slots.Current, now)
}

// desired returns the snapshot of the current slot as a desired output. The subject lacks one since its last slot or, without
// one, its anchor.
func (p *program) desired(of *subject, class *choice, now time.Time) mapcontroller.Desired {
	since := retention.LastSlot(of.backups.Whole.Snapshots, now)
	if since.IsZero() {
		since = of.anchor
	}
	return mapcontroller.Desired{
		Object: newSnapshot(p.schedule, of, class.name, of.slots.Current), Limit: string(class.limit), Since: since,
	}
}

// addParts adds what is known of each PVC, and returns which drills failed, and when one is no longer protected: by the slots that it
// would have if the schedule were not suspended. One that joined a group later waits for the next slot of the group.
func (p *program) addParts(status *keyStatus, of *subject, now time.Time) (failed []Problem, next time.Time) {
	line := p.spec.timeline(of)
	for i, claim := range of.claims {
		found, series, own := of.backups.everywhere(claim)
		one := claimsOf(p.schedule, of.claims[i:i+1], own, now)
		// The time to which it can be restored or, without a ready snapshot, from which the schedule should have had one.
		part, newest := claimPart{name: claim.Name, recoveryPoint: one.anchor}, retention.NewestReady(series, now)
		if newest >= 0 {
			part.recoveryPoint = series[newest].AgeBase(now)
		}
		if skip(claim) == "" {
			var until time.Time
			covered := retention.LastReadySlot(series, now)
			part.protection, until = protectionOf(line, one.since(), covered, p.spec.retention.ReadyDeadline, now)
			next = earliest(next, until)
			status.RecoveryPoint = earliest(status.RecoveryPoint, part.recoveryPoint)
			status.noneReady = status.noneReady || newest < 0
			drills := drillsOf(found, series, now)
			if part.verified = drills.Verified; drills.Failed.Reason != "" {
				drills.Failed.Claim = claim.Name
				failed = append(failed, drills.Failed)
			}
		}
		status.setPart(i, part)
	}
	return failed, next
}

// statusOf returns what the status says of a subject and its snapshots, whatever is decided about them. Those of no selected PVC
// are counted as detached, and in no other state.
func (p *program) statusOf(of *subject, kept keptForNow, now time.Time) *keyStatus {
	series := of.backups.Whole.Snapshots
	stuck, _ := p.stuck(&of.backups, now)
	status := &keyStatus{LastSnapshot: retention.LastSlot(series, now), Stuck: count(len(stuck)), KeptForNow: kept}
	if len(of.claims) == 0 {
		return status
	}
	status.Pending, status.Failed, status.Terminating = unready(p.spec, series, now)
	if of.group == "" {
		status.Claim = of.claims[0].Name
		return status
	}
	status.group = &groupStatus{name: of.group, parts: make([]claimPart, len(of.claims))}
	for i, claim := range of.claims {
		status.group.parts[i].name = claim.Name
	}
	return status
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

// tombstone decides which snapshots to keep of a PVC that is gone, or that exists
// and is not selected, or of a group without a selected PVC.
func (p *program) tombstone(seen mapcontroller.Observation) (mapcontroller.Decision, *subject) {
	of := &subject{key: seen.MapKey, backups: backupsOf(seen)}
	d, kept := p.retire(of, seen)
	if seen.Confirms {
		return d, of
	}
	if !of.backups.ofGroup && len(seen.Unselected) == 0 && slices.ContainsFunc(of.backups.Whole.Snapshots, mayKeepClaim) {
		d.Next = earliest(d.Next, seen.Now.Add(leavingCheck))
	}
	status := p.statusOf(of, kept, seen.Now)
	if len(seen.Unselected) > 0 && !of.backups.ofGroup {
		claim := seen.Unselected[0]
		if p.selects(claim) && metav1.IsControlledBy(claim, p.schedule) {
			// What a schedule makes must not be its own input.
			status.Claim, status.SkipReason = claim.GetName(), "controlled by this schedule"
		}
	}
	d.Next = earliest(d.Next, status.find(rules, observed{program: p, of: of, seen: seen}))
	if len(of.backups.outputs) > 0 || status.SkipReason != "" {
		d.Status = status
	}
	return d, of
}

// retire asks retention about a subject, and counts the snapshots that it would delete and that are kept for now.
func (p *program) retire(of *subject, seen mapcontroller.Observation) (d mapcontroller.Decision, n keptForNow) {
	b := &of.backups
	of.decided = b.decide(p.spec.retention, seen.Now)
	d.Next, d.Places = of.decided.Next, places(b.Whole.Snapshots)
	delays := delaysOf(p.schedule, p.from)
	for i, verdict := range of.decided.Verdicts {
		s := &b.Whole.Snapshots[i]
		if p.spec.retention.TakenAhead(s) {
			d.Next = earliest(d.Next, seen.Now.Add(clockCheck))
		}
		if verdict == retention.HeldByRestore {
			d.Next = earliest(d.Next, seen.Now.Add(restoreCheck))
		}
		if !verdict.Delete() {
			continue
		}
		reason, until := delays.keeps(s, seen.Now.Add(-seen.Ahead))
		if reason != "" {
			n.add(reason)
			if delays.edited {
				until = seen.Now.Add(clockCheck)
			}
			d.Next = earliest(d.Next, until)
			of.keep(i, reason)
			continue
		}
		bounded := takesPlace(s, verdict)
		if bounded && d.Places == 0 { // until an event shows that one is gone
			of.keep(i, v1alpha1.ReasonDeletionStuck)
			continue
		}
		d.Delete = append(d.Delete, mapcontroller.Removal{
			Object: b.outputs[i], Reason: verdict.String(), Urgent: verdict.Urgent(), Bounded: bounded,
		})
	}
	for _, i := range of.decided.Floor {
		d.Evidence = append(d.Evidence, b.outputs[i])
	}
	p.retireGroups(&d, of, seen)
	return d, n
}

// keep says why a backup is kept for now.
func (of *subject) keep(i int, reason string) {
	if of.keptFor == nil {
		of.keptFor = make([]string, len(of.decided.Verdicts))
	}
	of.keptFor[i] = reason
}
