// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// mapClaim decides which snapshots a selected PVC should have.
func (p *program) mapClaim(seen mapcontroller.Observation) mapcontroller.Decision {
	seen.Outputs = ofType[*snapshotv1.VolumeSnapshot](seen.Outputs)
	claim := seen.Selected[0].(*corev1.PersistentVolumeClaim)
	snapshots := snapshotsOf(seen.Outputs, restoring(seen.Related))
	of := subjectOf(p.schedule, claim, snapshots, seen.Now)
	slots := p.slots(&of, seen.Now)
	class, refused, skipReason := p.classFor(claim, seen)
	limit, guessed := p.limitedBy(claim, class, seen)
	storage := volumeOf(claim, Classes{All: seen.Related}.capacityOf(limit), seen)
	storage.guessed = guessed
	series := retention.Series{
		Claim:         retention.Selected,
		ClaimDeleting: claim.DeletionTimestamp != nil,
		Snapshots:     snapshots,
		VolumeFull: storage.full() && Classes{All: seen.Related}.proven(
			limit, p.schedule.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassName, seen.Outputs, claim.CreationTimestamp.Time),
	}
	awaited := p.from.awaitsRecord(slots.Current, seen.Now)
	if skipReason == "" && refused.Reason == "" && awaited.IsZero() { // else one that failed has no replacement
		series.Slot = slots.Current
	}
	decided, d, spared := p.decide(seen, series)
	if decided.Take.Create() {
		d.Ensure = append(d.Ensure, desired(&of, newSnapshot(p.schedule, claim, class, slots.Current), limit, series.Snapshots, seen.Now))
	}
	d.Next = earliest(d.Next, slots.Next, slots.Until, awaited)

	status := p.statusOf(&of, series.Snapshots, seen.Now)
	status.Spared, d.Status = spared, status
	status.addLost(claim)
	p.addUnfinished(&d, status, claim, series.Snapshots, seen)
	if status.skip(skipReason) {
		return d
	}
	status.retained = Classes{All: seen.Related}.retains(class, driverOf(claim))
	status.addCapacity(&storage, p.spec, decided.Take)
	if refused.Reason != "" {
		status.add(refused)
	}
	status.NextSlot, status.noneReady = slots.Next, retention.NewestReady(series.Snapshots, seen.Now) < 0
	status.due = !decided.Take.Create() && isDue(slots, series.Snapshots, seen.Now)
	if len(d.Ensure) > 0 {
		status.pending = &pendingSlot{slot: slots.Current, driver: limit, guessed: guessed}
	} else if status.LastSnapshot.Before(slots.Dropped) {
		status.pending = &pendingSlot{slot: slots.Dropped, late: true}
	}
	if at := failsAt(p.spec, series.Snapshots, seen.Now); at.After(seen.Now) {
		d.Next = earliest(d.Next, at)
	}
	status.protection = p.protect(&d, &of, of.since(), series.Snapshots, seen.Now)
	p.addWords(&d, status, series.Snapshots, seen)
	status.addDrills(drillsOf(seen.Outputs, series.Snapshots, seen.Now))
	p.addTroubles(&d, status, refused, series.Snapshots, slots, decided.Take, seen.Now)
	return d
}

// isDue returns whether the current slot has no snapshot, also if a problem or another snapshot is in the way.
func isDue(slots schedule.Slots, series []retention.Snapshot, now time.Time) bool {
	return !slots.Current.IsZero() && !slots.Current.After(now) && !retention.Covered(series, slots.Current, now)
}

// desired returns a snapshot as a desired output. Its subject lacks one since its last slot or, without
// one, its anchor.
func desired(of *subject, o client.Object, limit driver, series []retention.Snapshot, now time.Time) mapcontroller.Desired {
	since := retention.LastSlot(series, now)
	if since.IsZero() {
		since = of.anchor
	}
	if !of.carried.IsZero() {
		o.GetAnnotations()[v1alpha1.AnnotationRhythm] = of.carried.UTC().Format(time.RFC3339)
	}
	return mapcontroller.Desired{Object: o, Limit: string(limit), Since: since}
}

// limitedBy returns the driver whose limits the snapshots of a PVC count towards, and whether it is a guess.
func (p *program) limitedBy(
	claim *corev1.PersistentVolumeClaim, class *string, seen mapcontroller.Observation,
) (limit driver, guessed bool) {
	classes := Classes{Known: p.classesKnown, All: seen.Related}
	says := classes.limitedBy(claim, &p.schedule.Spec.SnapshotTemplate.Spec, class)
	return classes.limitOf(says, seen.Outputs, claim.CreationTimestamp.Time)
}

// addCapacity adds what the storage cannot take.
func (k *keyStatus) addCapacity(v *volume, spec *compiled, take retention.Take) {
	k.ofDriver = v.capacity.problem()
	k.noPlace = take.Create() && v.full()
	if p := v.problem(spec, take.Create()); p.Message != "" {
		k.add(p)
	}
}

// addTroubles adds what snapshots show to be wrong. A PVC without a class is overdue for a
// reason that is said already.
func (p *program) addTroubles(
	d *mapcontroller.Decision, status *keyStatus, refused Problem,
	series []retention.Snapshot, slots schedule.Slots, take retention.Take, now time.Time,
) {
	for _, problem := range troubles(p.spec, status.noun(), series, slots, take, now) {
		switch overdue := problem.Reason == v1alpha1.ReasonSnapshotOverdue; {
		case overdue && refused.Reason != "": // which says why
		case overdue:
			d.Next = earliest(d.Next, expiryHides(p.spec, slots, take))
			status.addOverdue(problem, take)
		default:
			status.add(problem)
		}
	}
}

// protect returns whether a PVC is protected, by the slots that it would have if the schedule were not
// suspended. Only those from a time on count.
func (p *program) protect(
	d *mapcontroller.Decision, of *subject, since time.Time, series []retention.Snapshot, now time.Time,
) protection {
	covered := retention.LastReadySlot(series, now)
	protected, until := protectionOf(p.spec.timeline(of), since, covered, p.spec.retention.ReadyDeadline, now)
	d.Next = earliest(d.Next, until)
	return protected
}

// addWords adds what the driver says about snapshots that are not ready.
func (p *program) addWords(d *mapcontroller.Decision, status *keyStatus, series []retention.Snapshot, seen mapcontroller.Observation) {
	said, next := saidOf(seen.Outputs, series, p.spec.retention.ReadyDeadline, seen.Now)
	d.Next = earliest(d.Next, next)
	status.said = said
	if said.error != nil {
		status.add(said.error.problem(status))
	}
}

// addOverdue adds that a PVC is overdue. Where its snapshot is about to be created, that
// is so only if it exists already.
func (k *keyStatus) addOverdue(problem Problem, take retention.Take) {
	if take.Create() {
		k.unlessCreated = unseenMessage
	} else {
		k.add(problem)
	}
}

// statusOf returns what the status says of a subject and its snapshots, whatever is
// decided about them.
func (p *program) statusOf(of *subject, series []retention.Snapshot, now time.Time) *keyStatus {
	status := &keyStatus{
		LastSnapshot:  retention.LastSlot(series, now),
		RecoveryPoint: recoveryPoint(series, of.anchor, now),
	}
	if of.group != "" {
		status.group = &groupStatus{name: of.group, parts: make([]claimPart, len(of.claims))}
		for i, claim := range of.claims {
			status.group.parts[i].name = claim.Name
		}
	} else {
		status.Claim = of.claim.Name
	}
	status.Pending, status.Failed, status.Terminating = unready(p.spec, series, now)
	return status
}

// classFor returns the class for the snapshots of a PVC. If none can be taken, it
// returns why: as a reason to skip the PVC, or as a problem.
func (p *program) classFor(
	claim *corev1.PersistentVolumeClaim, seen mapcontroller.Observation,
) (class *string, refused Problem, skipReason string) {
	if skipReason = skip(claim); skipReason != "" {
		return nil, Problem{}, skipReason
	}
	classes := Classes{Known: p.classesKnown, All: seen.Related}
	class, refused = classes.Choose(claim, &p.schedule.Spec.SnapshotTemplate.Spec)
	switch {
	case refused.Reason != v1alpha1.ReasonNotSnapshottable:
	case len(seen.Outputs) == 0:
		return nil, Problem{}, refused.String()
	default: // it could be snapshotted, so the class was lost
		refused.Reason = v1alpha1.ReasonNoSnapshotClass
		refused.Message += "; the PVC has snapshots, so it had one: create it again"
	}
	return class, refused, ""
}

// unseenMessage is of a PVC that is overdue although its snapshot exists.
const unseenMessage = "no snapshot is seen for a whole slot, although the API server has one: the watch of VolumeSnapshots is behind"

// slots returns the slots of a subject. Nothing that can be written on a PVC is read: whoever may
// edit it would otherwise decide how many snapshots displace the older ones. A malformed request
// is a problem of the schedule, not of its PVCs.
func (p *program) slots(of *subject, now time.Time) schedule.Slots {
	request, _ := v1alpha1.RequestOf(p.from.requester(p.schedule).GetAnnotations())
	return p.spec.slots(of, request, now)
}

// timeline returns the slots of a subject.
func (c *compiled) timeline(of *subject) schedule.Timeline {
	return c.rule.Timeline(of.anchor, schedule.Jitter(of.key, c.jitter)).Continue(of.carried)
}

func (c *compiled) slots(of *subject, request v1alpha1.Request, now time.Time) schedule.Slots {
	criteria := schedule.Criteria{
		Timeline:         c.timeline(of),
		Taken:            of.taken,
		Suspend:          c.suspend,
		TTL:              c.retention.TTL,
		StartingDeadline: c.startingDeadline,
	}
	if of.requested(request) {
		criteria.Requested = request.At
	}
	return criteria.At(now)
}

// tombstone decides which snapshots to keep of a PVC that is gone, or that exists
// and is not selected.
func (p *program) tombstone(seen mapcontroller.Observation) mapcontroller.Decision {
	seen.Outputs = ofType[*snapshotv1.VolumeSnapshot](seen.Outputs)
	series := retention.Series{Claim: retention.Gone, Snapshots: snapshotsOf(seen.Outputs, restoring(seen.Related))}
	status := &keyStatus{LastSnapshot: retention.LastSlot(series.Snapshots, seen.Now)}
	leaving := leavingOf(seen.Outputs, seen.Related)
	series.ClaimDeleting = leaving != nil
	if len(seen.Unselected) > 0 {
		claim := seen.Unselected[0]
		series.Claim = retention.Unselected
		series.ClaimDeleting = claim.GetDeletionTimestamp() != nil
		if p.selects(claim) && metav1.IsControlledBy(claim, p.schedule) {
			// What a schedule makes must not be its own input.
			status.Claim, status.SkipReason = claim.GetName(), "controlled by this schedule"
		}
	}
	var d mapcontroller.Decision
	_, d, status.Spared = p.decide(seen, series)
	if len(seen.Unselected) == 0 && slices.ContainsFunc(series.Snapshots, mayKeepClaim) {
		d.Next = earliest(d.Next, seen.Now.Add(leavingCheck))
	}
	if len(seen.Outputs) > 0 {
		var claim client.Object = &corev1.PersistentVolumeClaim{}
		if claim.SetName(backup.ClaimName(seen.Outputs[0])); len(seen.Unselected) > 0 {
			claim = seen.Unselected[0]
		} else if leaving != nil {
			claim = leaving
		}
		p.addUnfinished(&d, status, claim, series.Snapshots, seen)
	}
	if len(seen.Outputs) > 0 || status.SkipReason != "" {
		d.Status = status
	}
	return d
}

// decide asks retention about a series, and counts the snapshots that it would delete
// and that are spared for now.
func (p *program) decide(
	seen mapcontroller.Observation, series retention.Series,
) (decided retention.Decision, d mapcontroller.Decision, n spared) {
	decided = retention.Decide(p.spec.retention, seen.Now, series)
	d, n = p.carryOut(seen, series, decided)
	return decided, d, n
}

// carryOut returns what becomes of the outputs, whose series retention has decided about.
func (p *program) carryOut(
	seen mapcontroller.Observation, series retention.Series, decided retention.Decision,
) (d mapcontroller.Decision, n spared) {
	var sparedFor []string
	if p.decided != nil {
		sparedFor = make([]string, len(decided.Verdicts))
		defer func() { p.decided(seen.Outputs, series, decided, sparedFor) }()
	}
	d.Next, d.Places = decided.Next, places(series.Snapshots)
	grace := graceOf(p.schedule, p.from)
	for i, verdict := range decided.Verdicts {
		if p.spec.retention.TakenAhead(&series.Snapshots[i]) {
			d.Next = earliest(d.Next, seen.Now.Add(clockCheck))
		}
		if verdict.Delete() {
			reason, until := grace.spares(&series.Snapshots[i], seen.Now.Add(-seen.Ahead))
			if reason != "" {
				n.add(reason)
				if grace.edited {
					until = seen.Now.Add(clockCheck)
				}
				d.Next = earliest(d.Next, until)
				if sparedFor != nil {
					sparedFor[i] = reason
				}
				continue
			}
			bounded := takesPlace(&series.Snapshots[i], verdict)
			if bounded && d.Places == 0 { // until an event shows that one is gone
				if sparedFor != nil {
					sparedFor[i] = v1alpha1.ReasonDeletionStuck
				}
				continue
			}
			d.Delete = append(d.Delete, mapcontroller.Removal{
				Object: seen.Outputs[i], Reason: verdict.String(), Urgent: verdict.Urgent(), Bounded: bounded,
			})
		}
		if verdict == retention.HeldByRestore {
			d.Next = earliest(d.Next, seen.Now.Add(restoreCheck))
		}
	}
	for _, i := range decided.Floor {
		d.Evidence = append(d.Evidence, seen.Outputs[i])
	}
	return d, n
}

// ofType returns the objects of a type. Whoever may create snapshots can put any map key on them.
func ofType[T client.Object](all []client.Object) []client.Object {
	other := func(o client.Object) bool { _, ok := o.(T); return !ok }
	if !slices.ContainsFunc(all, other) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), other)
}

// skip returns why a PVC can't be snapshotted now; empty if it can. Its events
// enqueue it when that changes.
func skip(claim *corev1.PersistentVolumeClaim) string {
	switch {
	case claim.DeletionTimestamp != nil:
		return "being deleted"
	case claim.Status.Phase == corev1.ClaimLost:
		return "its volume is lost"
	case claim.Status.Phase != corev1.ClaimBound:
		return "not Bound"
	}
	return ""
}

// addLost adds that the volume of a PVC is gone.
func (k *keyStatus) addLost(claim *corev1.PersistentVolumeClaim) {
	if claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimLost {
		return
	}
	k.add(Problem{Claim: claim.Name, Reason: v1alpha1.ReasonClaimLost, Message: fmt.Sprintf(
		"its PersistentVolume is gone, and its data with it: kubectl snapsched restore -n '%s' --pvc='%s'", claim.Namespace, claim.Name)})
}

// recoveryPoint returns the time to which a PVC can be restored; without a ready
// snapshot, the time from which the schedule should have had one.
func recoveryPoint(snapshots []retention.Snapshot, anchor, now time.Time) time.Time {
	if i := retention.NewestReady(snapshots, now); i >= 0 {
		return snapshots[i].AgeBase(now)
	}
	return anchor
}
