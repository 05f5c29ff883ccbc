// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// EndState describes what exists after a run in a form that is the same for two equal runs: without UIDs, generated names, times and
// counts. Counts and times of status are compared with the objects instead.
type EndState struct {
	// Schedules are the conditions, problems and so on of each schedule, by name.
	Schedules map[string][]string
	// Fleets are those of each ClusterSnapshotSchedule.
	Fleets map[string][]string
	// Series are the snapshots by schedule and PVC, oldest first.
	Series map[string][]string
	// Others are the snapshots that no schedule controls.
	Others []string
	// Wrong is where status contradicts the objects, which is wrong in any run.
	Wrong []string
}

// TakeEndState describes all SnapshotSchedules, PersistentVolumeClaims and VolumeSnapshots of a run, read live.
func TakeEndState(objects []client.Object) EndState {
	st := stateOf(objects)
	e := EndState{Schedules: map[string][]string{}, Fleets: map[string][]string{}, Series: map[string][]string{}}
	for _, f := range st.fleets {
		e.Fleets[fleetName] = describeFleet(f)
		e.Wrong = append(e.Wrong, st.fleetErrors(f)...)
	}
	for _, s := range st.schedules {
		e.Schedules[nameOf(s)] = describeSchedule(s)
		e.Wrong = append(e.Wrong, st.statusErrors(s, forever)...)
	}
	var all []*snapshotv1.VolumeSnapshot
	for _, s := range st.snapshots {
		all = append(all, s)
	}
	for _, s := range slices.Backward(newestFirst(all, forever)) {
		schedule := st.scheduleOf(seriesOf(s))
		if schedule == nil || !owned(s, schedule) {
			e.Others = append(e.Others, st.describeOther(s))
			continue
		}
		name := nameOf(schedule) + " of " + st.claimName(s)
		e.Series[name] = append(e.Series[name], st.describe(s, schedule))
	}
	slices.Sort(e.Others)
	slices.Sort(e.Wrong)
	return e
}

// forever is later than any slot: an end state takes all slots as they are.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// claimName returns the name of a snapshot's PVC, and whether that PVC is gone.
func (st *state) claimName(s *snapshotv1.VolumeSnapshot) string {
	if claim := st.claims[types.UID(s.Labels[v1alpha1.LabelMapKey])]; claim != nil {
		return claim.Name
	}
	return sourceOf(s) + " (gone)"
}

func sourceOf(s *snapshotv1.VolumeSnapshot) string {
	if name := s.Spec.Source.PersistentVolumeClaimName; name != nil {
		return *name
	}
	return "a content"
}

// describe returns the slot of a snapshot and its state.
func (st *state) describe(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) string {
	return strings.Join(append([]string{st.slotName(s, schedule)}, traits(s)...), ", ")
}

// slotName returns the number of the slot, if the operator took it for an interval's slot, or a name that a user gave it.
func (st *state) slotName(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) string {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || !nameHasSlot(s, slot) {
		return s.Name
	}
	spec, err := ReadSpec(&schedule.Spec)
	claim := st.claims[types.UID(s.Labels[v1alpha1.LabelMapKey])]
	if err != nil || claim == nil || spec.interval == 0 || spec.Jitter > 0 {
		return "a slot"
	}
	since := slot.Sub(Anchor(schedule, claim))
	if since < 0 || since%spec.interval != 0 {
		return "a requested slot"
	}
	return fmt.Sprintf("slot %d", since/spec.interval)
}

// nameHasSlot returns whether the operator generated the name of a snapshot.
func nameHasSlot(s *snapshotv1.VolumeSnapshot, slot time.Time) bool {
	return strings.Contains(s.Name, "-"+slot.UTC().Format("20060102150405")+"-")
}

func traits(s *snapshotv1.VolumeSnapshot) []string {
	var facts []string
	add := func(is bool, fact string) {
		if is {
			facts = append(facts, fact)
		}
	}
	add(isUncut(s), "uncut")
	add(readyToUse(s), "ready")
	add(inError(s), "in error")
	add(s.DeletionTimestamp != nil, "being deleted")
	add(isHeld(s, time.Now()), "held")
	return facts
}

func (st *state) describeOther(s *snapshotv1.VolumeSnapshot) string {
	name := s.Name
	if slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil && nameHasSlot(s, slot) {
		name = "a snapshot of " + st.claimName(s)
	}
	control := "without a controller"
	switch ref := metav1.GetControllerOfNoCopy(s); {
	case ref != nil && st.schedules[ref.UID] != nil:
		control = "controlled by " + nameOf(st.schedules[ref.UID]) + " and not released"
	case ref != nil:
		control = fmt.Sprintf("controlled by %s %s", ref.Kind, ref.Name)
	}
	return strings.Join(append([]string{name, control}, traits(s)...), ", ")
}

// describeSchedule returns what is the same in two equal runs of a schedule's status.
func describeSchedule(s *v1alpha1.SnapshotSchedule) []string {
	var facts []string
	for _, c := range s.Status.Conditions {
		facts = append(facts, fmt.Sprintf("%s=%s, %s", c.Type, c.Status, c.Reason))
	}
	for _, p := range s.Status.Problems {
		facts = append(facts, fmt.Sprintf("problem: %s %s", p.PersistentVolumeClaim, p.Reason))
	}
	if s.Status.MoreProblems > 0 {
		facts = append(facts, "more problems")
	}
	if r := s.Status.Retention; r != nil && r.Generation == s.Generation {
		facts = append(facts, fmt.Sprintf("a record and a delay of %s", r.EditDelay)) // an operator with an old view edits the spec once more
	} else if r != nil {
		facts = append(facts, fmt.Sprintf("a record of generation %d and a delay of %s", r.Generation, r.EditDelay))
	}
	for _, f := range s.Finalizers {
		facts = append(facts, "finalizer "+f)
	}
	for _, r := range s.OwnerReferences {
		facts = append(facts, "owned by a "+r.Kind)
	}
	if s.DeletionTimestamp != nil {
		facts = append(facts, "being deleted")
	}
	if s.Status.NextSnapshotTime != nil {
		facts = append(facts, "a next snapshot")
	}
	slices.Sort(facts)
	return facts
}

// statusErrors compares the counts and times of a status with the objects, at a time or, if now is forever, at any time.
func (st *state) statusErrors(s *v1alpha1.SnapshotSchedule, now time.Time) []string {
	if s.DeletionTimestamp != nil {
		return nil // status is not updated any more
	}
	status := &s.Status
	if status.ObservedGeneration != s.Generation {
		return []string{fmt.Sprintf("%s: status is of generation %d, want %d", s.Name, status.ObservedGeneration, s.Generation)}
	}
	spec, err := ReadSpec(&s.Spec)
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Reason == v1alpha1.ReasonSnapshotAPIMissing {
		return nil // unknown
	}
	if wrong := validityErrors(s, err); err != nil || len(wrong) > 0 {
		return wrong
	}
	want := st.wantStatus(s, spec, now)
	var wrong []string
	check := func(what string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s: status.%s is %v, want %v", s.Name, what, got, want))
		}
	}
	check("inputs.persistentvolumeclaims.total", status.Inputs.PersistentVolumeClaims.Total, want.Inputs.PersistentVolumeClaims.Total)
	check("outputs.volumesnapshots.total", status.Outputs.VolumeSnapshots.Total, want.Outputs.VolumeSnapshots.Total)
	check("outputs.volumesnapshots.ready", status.Outputs.VolumeSnapshots.Ready, want.Outputs.VolumeSnapshots.Ready)
	check("detached.mapKeys", status.Detached.MapKeys, want.Detached.MapKeys)
	check("detached.volumesnapshots", status.Detached.VolumeSnapshots, want.Detached.VolumeSnapshots)
	if now.Equal(forever) && st.hasFutureTimes() {
		return wrong // the times depend on when status was computed
	}
	check("lastSnapshotTime", instant(status.LastSnapshotTime), instant(want.LastSnapshotTime))
	check("oldestRecoveryPointTime", instant(status.OldestRecoveryPointTime), instant(want.OldestRecoveryPointTime))
	return wrong
}

// hasFutureTimes returns whether the slot or the cut of a snapshot is well after its creation.
func (st *state) hasFutureTimes() bool {
	for _, v := range st.snapshots {
		soon := v.CreationTimestamp.Add(24 * time.Hour)
		if cut, ok := cutTime(v); ok && cut.After(soon) || slotOf(v, forever).After(soon) {
			return true
		}
	}
	return false
}

func instant(t *metav1.Time) string {
	if t == nil {
		return "unset"
	}
	return t.UTC().Format(time.RFC3339)
}

// wantStatus returns what the status of a schedule should be.
func (st *state) wantStatus(s *v1alpha1.SnapshotSchedule, spec *Spec, now time.Time) v1alpha1.SnapshotScheduleStatus {
	status := v1alpha1.SnapshotScheduleStatus{Inputs: &v1alpha1.Inputs{}, Detached: &v1alpha1.Detached{}}
	detached := map[string]bool{}
	for _, v := range st.snapshots {
		if !owned(v, s) {
			continue
		}
		key := v.Labels[v1alpha1.LabelMapKey]
		status.Outputs.VolumeSnapshots.Total++
		if readyToUse(v) {
			status.Outputs.VolumeSnapshots.Ready++
		}
		if !(&evaluation{view: st.view(seriesOf(v)), Spec: spec}).selected() {
			detached[key] = true
			status.Detached.VolumeSnapshots++
		}
		if slot, ok := coveredSlot(v, now); ok {
			status.LastSnapshotTime = latest(status.LastSnapshotTime, slot)
		}
	}
	status.Detached.MapKeys = int32(len(detached))
	for uid, claim := range st.claims {
		v := st.view(seriesID{schedule: s.UID, mapKey: string(uid)})
		if claim.Namespace != s.Namespace || !(&evaluation{view: v, Spec: spec}).selected() {
			continue
		}
		status.Inputs.PersistentVolumeClaims.Total++
		if claim.DeletionTimestamp != nil || claim.Status.Phase != corev1.ClaimBound {
			continue // it is skipped
		}
		point := Anchor(s, claim)
		if ready := readyOnes(newestFirst(v.series, now)); len(ready) > 0 {
			point = ageBase(ready[0], now)
		}
		if have := status.OldestRecoveryPointTime; have == nil || point.Before(have.Time) {
			status.OldestRecoveryPointTime = &metav1.Time{Time: point}
		}
	}
	return status
}

func latest(have *metav1.Time, at time.Time) *metav1.Time {
	if have != nil && !at.After(have.Time) {
		return have
	}
	return &metav1.Time{Time: at}
}
