// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// Judge makes the decisions of the operator about one schedule outside of the
// operator, and says why.
type Judge struct {
	program *program
	classes Classes
	delays  delays
	planner *mapcontroller.Planner
}

// judged is the status of a key with what was decided about.
type judged struct {
	status *keyStatus
	of     *subject
}

// judging returns what was decided about in place of the status.
func (f decider) judging(seen mapcontroller.Observation) mapcontroller.Decision {
	d, of := f(seen)
	status, _ := d.Status.(*keyStatus)
	d.Status = judged{status, of}
	return d
}

// Series is what a Judge decides about: the snapshots of a PVC under a schedule, or the group
// snapshots of a group of PVCs.
type Series struct {
	MapKey string
	// Claims are the PVCs that exist: that of the key, or those of the group and of its group
	// snapshots.
	Claims []*corev1.PersistentVolumeClaim
	// Snapshots may include those of other owners. Members are the labeled members of group
	// snapshots.
	Snapshots, Members []client.Object
	// Elsewhere are the group snapshots of other keys that hold PVCs of the group; those of other owners do not count.
	Elsewhere []client.Object
	// Restores are the PVCs that are being restored from snapshots of the schedule's
	// namespace, and those of it that are being deleted, as Restores returns them.
	Restores []client.Object
}

// IsGroup returns whether it is of a group.
func (s *Series) IsGroup() bool { return backup.IsGroupKey(s.MapKey) }

// Part is what is known of a PVC of a group.
type Part struct {
	Claim string
	// Snapshots are the group snapshots that hold it, as a series of its own.
	Snapshots []retention.Snapshot
	// RecoveryPoint is the time to which it can be restored.
	RecoveryPoint time.Time
	Drills        Drills
	protection    protection
	// everywhere are also those of other keys, on which all but Snapshots depends.
	everywhere []retention.Snapshot
}

// Stale is that of a Judgment.
func (p *Part) Stale() bool { return p.protection == protectionOld }

// Judgment is what the operator would do in one pass over a series, and why.
type Judgment struct {
	// Adopt, Release and Create are snapshots, Delete are snapshots with the reasons.
	Adopt, Release, Create []client.Object
	Delete                 []mapcontroller.Removal
	// Next is when the judgment may change by time alone; zero: never.
	Next time.Time
	// Outputs are the snapshots that the decision counts. Series.Snapshots and
	// Retention.Verdicts are in their order.
	Outputs   []client.Object
	Series    retention.Series
	Retention retention.Decision
	// KeptFor has the reason of condition RetentionPaused, or DeletionStuck, for each snapshot
	// that Retention would delete and that is kept for now; empty for the others.
	KeptFor []string
	// Limited is set if it matters to the storage which snapshots its volumes have.
	Limited bool
	// Slots of a selected PVC.
	Slots schedule.Slots
	// Due is set while a slot has no snapshot, also if a problem or another snapshot is in the way.
	Due bool
	// SkipReason says why the PVC cannot be snapshotted now.
	SkipReason SkipReason
	// RecoveryPoint is the time to which a selected PVC can be restored.
	RecoveryPoint time.Time
	protection    protection
	// Group is the name of a group, and Parts are its selected PVCs; empty for a PVC.
	Group string
	Parts []Part
	// Problems are those that the snapshots show; failed writes are in the
	// schedule's status only.
	Problems []Problem
}

// NewJudge returns a Judge, or why the spec is invalid. The scheme must know the
// schedule, PVCs and VolumeSnapshots. If the classes are not known, one is assumed to
// fit: who asks may not read them, unlike the operator. The related objects are those of
// OriginNames, as far as they are known: without them, nobody has confirmed a child.
func NewJudge(scheme *runtime.Scheme, s *v1alpha1.SnapshotSchedule, classes Classes, related ...client.Object) (*Judge, error) {
	p, err := newProgram(s, originOf(s, related), classes.Known)
	if err != nil {
		return nil, err
	}
	p.schedule = p.schedule.DeepCopy()
	if !classes.Known {
		p.schedule.Spec.SnapshotTemplate.Spec.VolumeSnapshotClassNames = nil
	}
	if p.schedule.Spec.Group != nil && p.schedule.Spec.DeletionPolicy != v1alpha1.DeletionOrphan {
		controllerutil.AddFinalizer(p.schedule, v1alpha1.FinalizerRelease) // as the operator does first
	}
	p.groupClassesUnknown = classes.GroupsUnknown
	functions := p.functions()
	functions.Map, functions.Tombstone = decider(p.mapKey).judging, decider(p.tombstone).judging
	planner, err := kinds().Planner(scheme, p.schedule, functions)
	if err != nil {
		return nil, err
	}
	return &Judge{program: p, classes: classes, delays: delaysOf(p.schedule, p.from), planner: planner}, nil
}

// Keeps makes the number of snapshots that a simulation of the spec has found the one that its problems name.
func (j *Judge) Keeps(n int) {
	spec := *j.program.spec
	spec.kept, spec.simulated = func() (int, bool) { return n, false }, true
	j.program.spec = &spec
}

// KeepsAtMost returns how many snapshots of a PVC the spec keeps at most; all: it never deletes any.
func (j *Judge) KeepsAtMost() (n int, all bool) { return j.program.spec.kept() }

// Selects returns whether a PVC is an input of the schedule.
func (j *Judge) Selects(claim *corev1.PersistentVolumeClaim) bool {
	return j.SelectsAs(j.Key(claim), claim)
}

// SelectsAs returns whether a PVC is an input of the schedule under a map key.
func (j *Judge) SelectsAs(key string, claim *corev1.PersistentVolumeClaim) bool {
	selected, _ := j.planner.Partition(key, claim)
	return len(selected) > 0
}

// Key returns the map key of a PVC that is selected.
func (j *Judge) Key(claim *corev1.PersistentVolumeClaim) string { return j.planner.Key(claim) }

// ReadyDeadline is the spec's, or its default.
func (j *Judge) ReadyDeadline() time.Duration { return j.program.spec.retention.ReadyDeadline }

// TTL is the spec's snapshotTTL, zero if there is none.
func (j *Judge) TTL() time.Duration { return j.program.spec.retention.TTL }

// KeptUntil returns when the snapshots that are kept for now for a reason may be deleted; zero
// if that is not known.
func (j *Judge) KeptUntil(reason string) time.Time {
	if reason == v1alpha1.ReasonDeletionStuck {
		return time.Time{}
	}
	return j.delays.until(reason)
}

// Confirmation says what confirms the spec, so that the snapshots that are kept for now for a
// reason are deleted at once; empty if nothing does.
func (j *Judge) Confirmation(reason string) string {
	s := j.program.schedule
	switch from := j.program.from; {
	case from.edited, reason == v1alpha1.ReasonDeletionStuck:
		return ""
	case !from.child:
		return fmt.Sprintf("annotation %s=%d confirms it", v1alpha1.AnnotationConfirmGeneration, s.Generation)
	case reason == v1alpha1.ReasonSnapshotsAdopted:
		return ""
	}
	return fmt.Sprintf("annotation %s of ClusterSnapshotSchedule %s confirms its template, in all namespaces",
		v1alpha1.AnnotationConfirmGeneration, s.Name)
}

// Judge decides about a series.
func (j *Judge) Judge(now time.Time, of Series) Judgment {
	seen := j.observe(now, of)
	seen.Related = slices.Concat(seen.Related, of.Snapshots)
	built := j.planner.Plan(seen)
	d := Judgment{Adopt: built.Adopt, Release: built.Release, Create: objects(built.Create), Delete: built.Delete, Next: built.Next}
	if decided, ok := built.Key.Status.(judged); ok {
		d.complete(decided.status, decided.of, seen.Now)
	}
	return d
}

// observe returns what the operator would see of a series.
func (j *Judge) observe(now time.Time, of Series) mapcontroller.Observation {
	seen := mapcontroller.Observation{
		Now: now, MapKey: of.MapKey, Outputs: of.Snapshots, Children: of.Members, Related: slices.Concat(of.Restores, j.classes.All),
	}
	for _, o := range of.Elsewhere {
		if Ownership.Owns(j.program.schedule, o) {
			seen.Elsewhere = append(seen.Elsewhere, o)
		}
	}
	for _, claim := range of.Claims {
		selected, unselected := j.planner.Partition(of.MapKey, claim)
		seen.Selected, seen.Unselected = append(seen.Selected, selected...), append(seen.Unselected, unselected...)
	}
	return seen
}

// Again decides about a series whose outputs are known to be the schedule's own,
// the oldest first, as after a Judge. Of the labels and the owner, what it creates has only what
// a decision reads. It takes half the time, which counts in a simulation.
func (j *Judge) Again(now time.Time, of Series) Judgment {
	seen := j.observe(now, of)
	decide := j.program.tombstone
	if len(seen.Selected) > 0 {
		decide = j.program.mapKey
	}
	decided, about := decide(seen)
	status, _ := decided.Status.(*keyStatus)
	d := Judgment{Create: objects(decided.Ensure), Delete: decided.Delete, Next: decided.Next}
	for _, o := range d.Create {
		o.SetNamespace(j.program.schedule.Namespace)
		o.SetLabels(map[string]string{v1alpha1.LabelMapKey: of.MapKey})
	}
	d.complete(status, about, now)
	return d
}

func objects(desired []mapcontroller.Desired) (all []client.Object) {
	for _, d := range desired {
		all = append(all, d.Object)
	}
	return all
}

// complete adds what was decided about, and what its status says; nil if there is none.
func (d *Judgment) complete(status *keyStatus, of *subject, now time.Time) {
	d.Outputs, d.Series, d.Retention, d.Slots, d.Group = of.backups.outputs, of.backups.Whole, of.decided, of.slots, of.group
	d.Limited = of.limited
	if d.KeptFor = of.keptFor; d.KeptFor == nil {
		d.KeptFor = make([]string, len(of.decided.Verdicts))
	}
	if status == nil {
		return
	}
	d.SkipReason, d.Problems, d.RecoveryPoint = status.SkipReason, status.Problems, status.RecoveryPoint
	if status.noPlace {
		d.Create = nil
	}
	if status.ofDriver != nil {
		d.Problems = append(slices.Clone(d.Problems), *status.ofDriver)
	}
	d.protection, d.Due = status.protection, status.due || status.waits()
	for i, part := range status.parts() {
		found, series, own := of.backups.everywhere(of.claims[i])
		d.Parts = append(d.Parts, Part{
			Claim: part.name, Snapshots: own, Drills: drillsOf(found, series, now), everywhere: series,
			RecoveryPoint: part.recoveryPoint, protection: part.protection,
		})
	}
}

// Delays returns whether deletes may wait at a time because the spec changed or an
// earlier schedule of the name left snapshots.
func (j *Judge) Delays(at time.Time) bool {
	g := &j.delays
	return g.edited || g.unrecorded || at.Before(g.changed) || at.Before(g.adopted)
}

// Policy is the spec's retention.
func (j *Judge) Policy() retention.Policy { return j.program.spec.retention }

// NextSlots returns the next slots of a series, at most n of them; none if no PVC of it is
// selected, or if it is a PVC that belongs to no group of a schedule that takes groups.
func (j *Judge) NextSlots(of Series, now time.Time, n int) []time.Time {
	seen := j.observe(now, of)
	if len(seen.Selected) == 0 || j.program.schedule.Spec.Group != nil && !backup.IsGroupKey(of.MapKey) {
		return nil
	}
	seen.Outputs = slices.DeleteFunc(slices.Clone(seen.Outputs), func(o client.Object) bool { return !Ownership.Owns(j.program.schedule, o) })
	var next []time.Time
	for subject := j.program.subjectOf(seen); len(next) < n; {
		slots := j.program.slots(subject, now)
		if slots.Next.IsZero() {
			break
		}
		next = append(next, slots.Next)
		now = slots.Next
	}
	return next
}

// Current returns whether a ready snapshot covers the newest slot but one, or a later one.
func (d *Judgment) Current() bool { return d.protection == protectionCurrent }

// Stale returns whether a selected PVC makes the condition Protected false: no ready snapshot
// covers the latest slot or the one before it, and the first slot is older than readyDeadline.
func (d *Judgment) Stale() bool { return d.protection == protectionOld }

// Drills returns what the snapshots show of the drills of the PVC.
func (d *Judgment) Drills(now time.Time) Drills {
	switch {
	case d.Group == "":
		return drillsOf(d.Outputs, d.Series.Snapshots, now)
	case len(d.Parts) == 1:
		return d.Parts[0].Drills
	}
	return Drills{} // each of Parts has its own
}

// OfPart returns what a judgment about a group means for one of its PVCs.
func (d *Judgment) OfPart(i int) *Judgment {
	one, part := *d, &d.Parts[i]
	one.Series.Snapshots, one.RecoveryPoint, one.protection = part.everywhere, part.RecoveryPoint, part.protection
	one.Parts = d.Parts[i : i+1]
	return &one
}

// Refused returns why the schedule takes no snapshot of a PVC that it selects:
// because the PVC is skipped, or because no class fits. It is empty if it does.
func (j *Judge) Refused(claim *corev1.PersistentVolumeClaim) string {
	if reason := skip(claim); reason != "" {
		return string(reason)
	}
	if _, _, p := j.classes.choose(wantedOf(&j.program.schedule.Spec, []*corev1.PersistentVolumeClaim{claim})); p.Reason != "" {
		return p.String()
	}
	return ""
}
