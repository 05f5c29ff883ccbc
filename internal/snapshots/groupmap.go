// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// The members of a group snapshot are looked for again after half of the time since it was
// cut, within these bounds, for a day: a driver that left a PVC out makes no member of it later.
const (
	seekSoonest = time.Second
	seekLatest  = time.Hour
	seekFor     = 24 * time.Hour
)

// elsewhereCheck is how often a group snapshot is checked that the floor keeps for a PVC which has left its group: no event
// shows that another group of the PVC has a newer one.
const elsewhereCheck = time.Hour

// memberPatience is how long the members of a group snapshot that is cut may be missing:
// they are made, and become ready, a moment after it.
const memberPatience = time.Minute

// A group whose PVCs are others than those of its newest group snapshot is not taken before they have been the same for
// settleFor, or for settleWithin since the slot was due and they began to change: PVCs come one after the other, and the
// first alone is no group.
const (
	settleFor    = 10 * time.Second
	settleWithin = 2 * time.Minute
)

// unsettled returns when a group whose PVCs have changed may be taken for its slot; zero: now.
func (p *program) unsettled(of *subject, slots schedule.Slots, seen mapcontroller.Observation, g *groupSeries) time.Time {
	newest := retention.Newest(g.Whole.Snapshots, seen.Now)
	if seen.SameSince.IsZero() || slots.Current.IsZero() || newest >= 0 && maps.Equal(backup.ClaimsOf(g.outputs[newest]), of.record()) {
		return time.Time{}
	}
	// The first slot that it lacks, not the newest: a short interval would otherwise end the wait of no group that keeps changing.
	first, _ := p.spec.timeline(of).Next(retention.LastSlot(g.Whole.Snapshots, seen.Now))
	began := earliest(first, slots.Current)
	if seen.ChangingSince.After(began) {
		began = seen.ChangingSince
	}
	at := earliest(seen.SameSince.Add(settleFor), began.Add(settleWithin))
	if last := slots.Until.Add(-time.Second); !slots.Until.IsZero() && last.Before(at) { // late rather than never
		at = last
	}
	if !seen.Now.Before(at) {
		return time.Time{}
	}
	return at
}

// mapGroup decides which group snapshots a group of selected PVCs should have.
func (p *program) mapGroup(seen mapcontroller.Observation) mapcontroller.Decision {
	seen.Outputs = ofType[*groupv1.VolumeGroupSnapshot](seen.Outputs)
	g := groupSeriesOf(seen)
	of := p.groupOf(seen, g)
	slots := p.slots(&of, seen.Now)
	classes := Classes{Known: p.classesKnown, GroupsUnknown: p.groupClassesUnknown || len(seen.Missing) > 0, All: seen.Related}
	class, ofDriver, refused, skipReason := p.classForGroup(&of, classes, seen)
	limit, guessed := classes.limitOf(ofDriver, seen.Outputs, oldestOf(of.claims))
	volumes := volumesOf(of.claims, classes.capacityOf(limit), seen)
	for i := range volumes {
		volumes[i].guessed = guessed
	}
	g.Whole.VolumeFull = slices.ContainsFunc(volumes, func(v volume) bool { return v.full() }) &&
		classes.proven(limit, p.schedule.Spec.Group.VolumeGroupSnapshotClassName, seen.Outputs, oldestOf(of.claims))
	var settled time.Time
	awaited := p.from.awaitsRecord(slots.Current, seen.Now)
	if skipReason == "" && refused.Reason == "" && awaited.IsZero() {
		if settled = p.unsettled(&of, slots, seen, g); settled.IsZero() {
			g.Whole.Slot = slots.Current
		}
	}
	decided, d, spared := p.decideGroup(seen, g)
	status := p.statusOf(&of, g.Whole.Snapshots, seen.Now)
	status.Spared, d.Status = spared, status
	d.Next = earliest(d.Next, slots.Next, slots.Until, settled, awaited)
	for _, claim := range of.claims {
		status.addLost(claim)
	}
	p.addUnfinishedGroups(&d, status, g, seen)
	if status.skip(skipReason) {
		return d
	}
	status.NextSlot = slots.Next
	status.due = !decided.Take.Create() && isDue(slots, g.Whole.Snapshots, seen.Now)
	if decided.Take.Create() {
		d.Ensure = append(d.Ensure, desired(&of, newGroup(p.schedule, &of, class, slots.Current), limit, g.Whole.Snapshots, seen.Now))
		status.pending = &pendingSlot{slot: slots.Current, driver: limit, guessed: guessed}
	} else if status.LastSnapshot.Before(slots.Dropped) {
		status.pending = &pendingSlot{slot: slots.Dropped, late: true}
	}
	status.retained = classes.retainsGroups(class, ofDriver)
	status.addCapacities(volumes, p.spec, decided.Take)
	if refused.Reason != "" {
		status.add(refused)
	}
	if at := failsAt(p.spec, g.Whole.Snapshots, seen.Now); at.After(seen.Now) {
		d.Next = earliest(d.Next, at)
	}
	p.addWords(&d, status, g.Whole.Snapshots, seen)
	p.addTroubles(&d, status, refused, g.Whole.Snapshots, slots, decided.Take, seen.Now)
	p.addParts(&d, status, &of, g, seen.Now)
	p.addMembers(&d, status, g, seen.Now)
	return d
}

// groupTombstone decides which group snapshots to keep of a group without a selected PVC.
func (p *program) groupTombstone(seen mapcontroller.Observation) mapcontroller.Decision {
	seen.Outputs = ofType[*groupv1.VolumeGroupSnapshot](seen.Outputs)
	g := groupSeriesOf(seen)
	_, d, spared := p.decideGroup(seen, g)
	if len(seen.Outputs) > 0 {
		status := &keyStatus{LastSnapshot: retention.LastSlot(g.Whole.Snapshots, seen.Now), Spared: spared}
		p.addUnfinishedGroups(&d, status, g, seen)
		d.Status = status
	}
	return d
}

// decideGroup asks retention about the group snapshots of a key.
func (p *program) decideGroup(
	seen mapcontroller.Observation, g *groupSeries,
) (decided retention.Decision, d mapcontroller.Decision, n spared) {
	decided = retention.DecideGroup(p.spec.retention, seen.Now, g.GroupSeries)
	d, n = p.carryOut(seen, g.Whole, decided)
	d.Delete = slices.DeleteFunc(d.Delete, func(r mapcontroller.Removal) bool {
		may, at := mayGo(r.Object.(*groupv1.VolumeGroupSnapshot), p.spec.retention.ReadyDeadline, seen.Now.Add(-seen.Ahead))
		if !may {
			d.Next = earliest(d.Next, at)
		}
		return !may
	})
	for _, i := range decided.Elsewhere {
		d.Evidence = append(d.Evidence, g.elsewhere.outputs[i])
	}
	if len(seen.Unselected) > 0 && slices.Contains(decided.Verdicts, retention.Floor) {
		d.Next = earliest(d.Next, seen.Now.Add(elsewhereCheck))
	}
	for i, v := range g.outputs {
		s := &g.Whole.Snapshots[i]
		if s.Uncut() || s.Deleting || len(g.lacks[i]) == 0 {
			continue
		}
		d.Seek = append(d.Seek, v)
		if since := seen.Now.Sub(s.AgeBase(seen.Now)); since < seekFor {
			d.Next = earliest(d.Next, seen.Now.Add(min(max(since/2, seekSoonest), seekLatest)))
		}
	}
	return decided, d, n
}

// mismatch returns why the labels of a group do not stand for its PVCs.
func (p *program) mismatch(of *subject, seen mapcontroller.Observation) Problem {
	if len(seen.Missing) > 0 {
		return Problem{Reason: v1alpha1.ReasonGroupSnapshotAPIMissing, Message: "VolumeGroupSnapshots are not installed in this cluster, " +
			"or the operator may not list them; they need the CRDs of group " + groupv1.GroupName + ", version v1"}
	}
	if n := len(of.claims); n > backup.MaxGroup {
		return Problem{Reason: v1alpha1.ReasonGroupTooLarge, Message: fmt.Sprintf(
			"the group has %d PVCs, and may have %d: divide it by a label, with spec.group.byLabel", n, backup.MaxGroup)}
	}
	var others []string
	for _, o := range seen.Unselected {
		if p.groupKey(o) == of.key {
			others = append(others, o.GetName())
		}
	}
	if len(others) == 0 {
		return Problem{}
	}
	slices.Sort(others)
	return Problem{Reason: v1alpha1.ReasonGroupMismatch, Message: "the labels of the group match PVCs that the schedule does not select: " +
		report.List(others, maxTerminating) + "; exclude them by a label, not by an annotation"}
}

// addCapacities adds what the storage cannot take, of the first volume that is full.
func (k *keyStatus) addCapacities(volumes []volume, spec *compiled, take retention.Take) {
	for i := range volumes {
		if i == 0 || volumes[i].full() && !k.noPlace {
			k.addCapacity(&volumes[i], spec, take)
		}
	}
}

// classForGroup returns the class for the snapshots of a group, and the driver whose limits they count towards. If none can be
// taken, it returns why: as a reason to skip the group, like a PVC (classFor), or as a problem.
func (p *program) classForGroup(
	of *subject, classes Classes, seen mapcontroller.Observation,
) (class *string, limit driver, refused Problem, skipReason string) {
	named := p.schedule.Spec.Group.VolumeGroupSnapshotClassName
	unfit, waits, stopped := 0, false, Problem{}
	for _, claim := range of.claims {
		reason := skip(claim)
		if waits = waits || reason != ""; reason == "" {
			reason = classes.notGroupable(claim, named)
		}
		if unfit++; reason == "" {
			unfit--
		} else if unfit == 1 {
			stopped = Problem{Reason: v1alpha1.ReasonGroupStopped, Message: fmt.Sprintf(
				"no snapshot of the group is taken, because of PVC %s: %s", claim.Name, reason)}
			skipReason = reason
		}
	}
	if unfit == len(of.claims) && (waits || len(seen.Outputs) == 0) { // else it could be snapshotted, so the class was lost
		return nil, "", Problem{}, skipReason
	}
	class, limit, refused = classes.forGroup(of, named)
	if other := p.mismatch(of, seen); other.Reason != "" {
		refused = other
	} else if unfit > 0 && unfit < len(of.claims) {
		refused = stopped
	}
	return class, limit, refused, ""
}

// addParts adds what is known of each PVC of a group.
func (p *program) addParts(d *mapcontroller.Decision, status *keyStatus, of *subject, g *groupSeries, now time.Time) {
	status.RecoveryPoint = time.Time{}
	for i, claim := range of.claims {
		_, own := g.of(claim)
		one := subjectOf(p.schedule, claim, own, now) // one that joined later waits for the next slot of the group
		found, series := g.everywhere(claim)
		part := &status.group.parts[i]
		part.recoveryPoint = recoveryPoint(series, one.anchor, now)
		if skip(claim) == "" {
			part.protection = p.protect(d, of, one.since(), series, now)
			status.RecoveryPoint = earliest(status.RecoveryPoint, part.recoveryPoint)
			status.noneReady = status.noneReady || retention.NewestReady(series, now) < 0
		}
		drills := drillsOf(found, series, now)
		part.verified = drills.Verified
		if drills.Failed.Reason != "" {
			drills.Failed.Claim = claim.Name
			status.add(drills.Failed)
		}
	}
}

// addMembers adds what is wrong with the members of group snapshots.
func (p *program) addMembers(d *mapcontroller.Decision, status *keyStatus, g *groupSeries, now time.Time) {
	newest := retention.Newest(g.Whole.Snapshots, now)
	for i, v := range g.outputs {
		if names := g.deleted[i]; len(names) > 0 && !backup.Terminating(v) {
			status.addIfNew(Problem{Reason: v1alpha1.ReasonMemberDeleted, Message: fmt.Sprintf(
				"the data of %s in VolumeGroupSnapshot %s is lost: its VolumeSnapshot is being deleted, which cannot be revoked",
				report.List(names, maxTerminating), v.Name)})
		}
		s := &g.Whole.Snapshots[i]
		if i != newest || !s.ReadyToUse || s.Deleting || len(g.lacks[i])+len(g.doubled[i])+len(g.strangers[i]) == 0 {
			continue
		}
		if patience := s.AgeBase(now).Add(memberPatience); len(g.doubled[i])+len(g.strangers[i]) == 0 && now.Before(patience) {
			d.Next = earliest(d.Next, patience)
			continue
		}
		var what []string
		if len(g.lacks[i]) > 0 {
			what = append(what, "holds no data of "+report.List(g.lacks[i], maxTerminating))
		}
		if len(g.doubled[i]) > 0 {
			what = append(what, "has several VolumeSnapshots of "+report.List(g.doubled[i], maxTerminating))
		}
		if len(g.strangers[i]) > 0 {
			what = append(what, "holds data of others: "+report.List(g.strangers[i], maxTerminating))
		}
		status.add(Problem{Reason: v1alpha1.ReasonGroupIncomplete, Message: fmt.Sprintf(
			"VolumeGroupSnapshot %s is ready, and %s", v.Name, strings.Join(what, ", and "))})
	}
}
