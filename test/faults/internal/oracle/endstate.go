// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// EndState is what a run left behind, in words that two runs have in common: no
// UIDs, no generated names, no times, and no counts, which are held against what
// there is instead.
type EndState struct {
	// Schedules by name: what each says of itself.
	Schedules map[string][]string `json:"schedules,omitempty"`
	// Series by schedule and PVC: the snapshots, oldest first.
	Series map[string][]string `json:"series,omitempty"`
	// Others are the snapshots that no schedule controls.
	Others []string `json:"others,omitempty"`
	// Wrong is where status does not say what there is. It is wrong in any run.
	Wrong []string `json:"wrong,omitempty"`
	// Missed says how many slots of a series the faults let pass. The caller
	// knows; it may only be set where the operator was down or cut off when the
	// slot fell due and the next one had come before it was back.
	Missed map[string]int `json:"missed,omitempty"`
}

// TakeEndState takes it from all SnapshotSchedules, PersistentVolumeClaims and
// VolumeSnapshots of a run, read live, as at a time of the API server's.
func TakeEndState(objects []client.Object) EndState {
	w := newWorld()
	for _, o := range objects {
		w.put(o)
	}
	e := EndState{Schedules: map[string][]string{}, Series: map[string][]string{}}
	for _, s := range w.schedules {
		e.Schedules[s.Name] = describeSchedule(s)
		e.Wrong = append(e.Wrong, w.wrongStatus(s)...)
	}
	var all []*snapshotv1.VolumeSnapshot
	for _, s := range w.snapshots {
		all = append(all, s)
	}
	for _, s := range slices.Backward(newestFirst(all, forever)) {
		schedule := w.schedules[controllerOf(s)]
		if schedule == nil || !owned(s, schedule) {
			e.Others = append(e.Others, w.describeOther(s))
			continue
		}
		name := schedule.Name + " of " + w.claimName(s)
		e.Series[name] = append(e.Series[name], w.describe(s, schedule))
	}
	slices.Sort(e.Others)
	slices.Sort(e.Wrong)
	return e
}

// forever is later than any slot: an end state is sorted by what objects tell.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// claimName is the name of the PVC that a series is of, and whether that PVC is
// still there.
func (w *world) claimName(s *snapshotv1.VolumeSnapshot) string {
	if claim := w.claims[types.UID(s.Labels[v1alpha1.LabelMapKey])]; claim != nil {
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

// describe names a snapshot by the number of its slot, if the schedule made it
// on its interval, and by its own name, if someone gave it one.
func (w *world) describe(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) string {
	facts := []string{w.slotName(s, schedule)}
	facts = append(facts, traits(s)...)
	return strings.Join(facts, ", ")
}

func (w *world) slotName(s *snapshotv1.VolumeSnapshot, schedule *v1alpha1.SnapshotSchedule) string {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || !strings.Contains(s.Name, "-"+slot.UTC().Format("20060102150405")+"-") {
		return s.Name
	}
	t, err := readTerms(&schedule.Spec)
	claim := w.claims[types.UID(s.Labels[v1alpha1.LabelMapKey])]
	if err != nil || claim == nil || t.interval == 0 || t.jitter > 0 {
		return "a slot"
	}
	since := slot.Sub(anchorOf(schedule, claim))
	if since < 0 || since%t.interval != 0 {
		return "a slot that was asked for"
	}
	return fmt.Sprintf("slot %d", since/t.interval)
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
	_, held := s.Annotations[v1alpha1.AnnotationHold]
	add(held, "held")
	return facts
}

func (w *world) describeOther(s *snapshotv1.VolumeSnapshot) string {
	name := s.Name
	if slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil &&
		strings.Contains(s.Name, "-"+slot.UTC().Format("20060102150405")+"-") {
		name = "a snapshot of " + w.claimName(s)
	}
	control := "controlled by nobody"
	switch ref := metav1.GetControllerOfNoCopy(s); {
	case ref != nil && w.schedules[ref.UID] != nil:
		control = "controlled by " + ref.Name + ", and taken out of it"
	case ref != nil:
		control = fmt.Sprintf("controlled by %s %s", ref.Kind, ref.Name)
	}
	return strings.Join(append([]string{name, control}, traits(s)...), ", ")
}

// describeSchedule is what two runs have in common of a schedule's status.
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
	for _, f := range s.Finalizers {
		facts = append(facts, "finalizer "+f)
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

// wrongStatus holds the numbers and times of a status against what there is.
func (w *world) wrongStatus(s *v1alpha1.SnapshotSchedule) []string {
	if s.DeletionTimestamp != nil {
		return nil // no longer kept
	}
	status := &s.Status
	if status.ObservedGeneration != s.Generation {
		return []string{fmt.Sprintf("%s: status is of generation %d of %d", s.Name, status.ObservedGeneration, s.Generation)}
	}
	t, err := readTerms(&s.Spec)
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	if err != nil || ready != nil && ready.Reason == v1alpha1.ReasonSnapshotAPIMissing {
		return nil // counts nothing for now
	}
	want := w.trueStatus(s, t)
	var wrong []string
	check := func(what string, got, want any) {
		if got != want {
			wrong = append(wrong, fmt.Sprintf("%s: status.%s is %v, and there is %v", s.Name, what, got, want))
		}
	}
	check("inputs.persistentvolumeclaims.total", status.Inputs.PersistentVolumeClaims.Total, want.Inputs.PersistentVolumeClaims.Total)
	check("outputs.volumesnapshots.total", status.Outputs.VolumeSnapshots.Total, want.Outputs.VolumeSnapshots.Total)
	check("outputs.volumesnapshots.ready", status.Outputs.VolumeSnapshots.Ready, want.Outputs.VolumeSnapshots.Ready)
	check("detached.mapKeys", status.Detached.MapKeys, want.Detached.MapKeys)
	check("detached.volumesnapshots", status.Detached.VolumeSnapshots, want.Detached.VolumeSnapshots)
	if w.looksAhead() {
		return wrong // which of its times is to come can't be told here
	}
	check("lastSnapshotTime", instant(status.LastSnapshotTime), instant(want.LastSnapshotTime))
	check("oldestRecoveryPoint", instant(status.OldestRecoveryPoint), instant(want.OldestRecoveryPoint))
	return wrong
}

// looksAhead: a snapshot tells a slot or a cut that lay well ahead when it was
// created.
func (w *world) looksAhead() bool {
	for _, v := range w.snapshots {
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

// trueStatus is what the status of a schedule should say.
func (w *world) trueStatus(s *v1alpha1.SnapshotSchedule, t *terms) v1alpha1.SnapshotScheduleStatus {
	var status v1alpha1.SnapshotScheduleStatus
	detached := map[string]bool{}
	for _, v := range w.snapshots {
		if !owned(v, s) {
			continue
		}
		key := v.Labels[v1alpha1.LabelMapKey]
		status.Outputs.VolumeSnapshots.Total++
		if readyToUse(v) {
			status.Outputs.VolumeSnapshots.Ready++
		}
		if !(&question{view: w.view(seriesOf(v)), terms: t}).selected() {
			detached[key] = true
			status.Detached.VolumeSnapshots++
		}
		status.LastSnapshotTime = latest(status.LastSnapshotTime, slotOf(v, forever))
	}
	status.Detached.MapKeys = int32(len(detached))
	for uid, claim := range w.claims {
		v := w.view(seriesID{schedule: s.UID, mapKey: string(uid)})
		if claim.Namespace != s.Namespace || !(&question{view: v, terms: t}).selected() {
			continue
		}
		status.Inputs.PersistentVolumeClaims.Total++
		point := anchorOf(s, claim)
		if ready := readyOnes(newestFirst(v.series, forever)); len(ready) > 0 {
			point = ageBase(ready[0], forever)
		}
		if have := status.OldestRecoveryPoint; have == nil || point.Before(have.Time) {
			status.OldestRecoveryPoint = &metav1.Time{Time: point}
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
