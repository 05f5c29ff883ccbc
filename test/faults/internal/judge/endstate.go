// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// EndState describes what exists after a run in a form that is the same for two equal runs: without UIDs, generated names, times and
// counts. Counts and times of status are compared with the objects instead.
type EndState struct {
	// Facts are about schedules and snapshots, sorted. One that holds twice is there twice.
	Facts []string
	// Wrong is where status contradicts the objects, which is wrong in any run.
	Wrong []string
}

// TakeEndState describes all objects of a run at a time.
func TakeEndState(st *State, now time.Time) (e EndState) {
	for _, f := range st.Fleets {
		e.add("ClusterSnapshotSchedule", f, f.Status.Conditions, describeFleet(f))
		e.Wrong = append(e.Wrong, st.fleetErrors(f)...)
	}
	for _, s := range st.Schedules {
		e.add("SnapshotSchedule "+nameOf(s), s, s.Status.Conditions, describeSchedule(s))
		e.Wrong = append(e.Wrong, st.statusErrors(s, now)...)
	}
	for _, v := range st.Snapshots {
		e.Facts = append(e.Facts, strings.Join(append(st.describe(v), traits(v, now)...), ", "))
	}
	slices.Sort(e.Facts)
	slices.Sort(e.Wrong)
	return e
}

// add adds that an object exists, and facts about it.
func (e *EndState) add(what string, o client.Object, conditions []metav1.Condition, facts []string) {
	facts = append(facts, "exists")
	for _, c := range conditions {
		facts = append(facts, fmt.Sprintf("%s=%s, %s", c.Type, c.Status, c.Reason))
	}
	for _, f := range o.GetFinalizers() {
		facts = append(facts, "finalizer "+f)
	}
	for _, r := range o.GetOwnerReferences() {
		facts = append(facts, "owned by a "+r.Kind)
	}
	if o.GetDeletionTimestamp() != nil {
		facts = append(facts, "being deleted")
	}
	for _, fact := range facts {
		e.Facts = append(e.Facts, what+": "+fact)
	}
}

// L1: after faults have stopped, the end state equals that of the run without faults, and status is correct.
func L1(reference, got EndState) (found []string) {
	found = slices.Clone(got.Wrong)
	for _, fact := range difference(got.Facts, reference.Facts) {
		found = append(found, "unexpected: "+fact)
	}
	for _, fact := range difference(reference.Facts, got.Facts) {
		found = append(found, "missing: "+fact)
	}
	return found
}

// difference returns what a has more often than b.
func difference(a, b []string) (more []string) {
	b = slices.Clone(b)
	for _, s := range a {
		if i := slices.Index(b, s); i >= 0 {
			b = slices.Delete(b, i, i+1)
		} else {
			more = append(more, s)
		}
	}
	return more
}

// nameOf returns the name of a schedule that is the same in two equal runs: a ClusterSnapshotSchedule and its children have the name of
// the run's namespace.
func nameOf(s *v1alpha1.SnapshotSchedule) string {
	if s.Name == s.Namespace {
		return "of the ClusterSnapshotSchedule"
	}
	return s.Name
}

// describeFleet returns what else is the same in two equal runs of a ClusterSnapshotSchedule's status.
func describeFleet(f *v1alpha1.ClusterSnapshotSchedule) (facts []string) {
	for _, p := range f.Status.Problems {
		facts = append(facts, "problem: "+p.Reason)
	}
	status := &f.Status
	return append(facts, fmt.Sprintf("counts: %+v, %+v, %+v, %+v", ptr.Deref(status.Inputs, v1alpha1.ClusterInputs{}), status.Outputs,
		ptr.Deref(status.Detached, v1alpha1.ClusterDetached{}), ptr.Deref(status.PersistentVolumeClaims, v1alpha1.ClaimTotals{})))
}

// describeSchedule returns what else is the same in two equal runs of a schedule's status.
func describeSchedule(s *v1alpha1.SnapshotSchedule) (facts []string) {
	for _, p := range s.Status.Problems {
		facts = append(facts, fmt.Sprintf("problem: %s %s", p.PersistentVolumeClaim, p.Reason))
	}
	if s.Status.MoreProblems > 0 {
		facts = append(facts, "more problems")
	}
	if s.Status.NextSnapshotTime != nil {
		facts = append(facts, "a next snapshot")
	}
	if r := s.Status.Retention; r != nil { // an operator with an old view edits the spec once more
		facts = append(facts, fmt.Sprintf("a record of its generation: %t, and a delay of %s", r.Generation == s.Generation, r.EditDelay))
	}
	return facts
}

// describe returns to which series a snapshot belongs and for which slot it was taken, or what controls one that no schedule owns.
func (st *State) describe(v *snapshotv1.VolumeSnapshot) []string {
	claim, name := sourceOf(v)+" (gone)", v.Name
	if c := st.claimOf(v); c != nil {
		claim = c.Name
	}
	at, ok := scheduledAt(v)
	isGenerated := ok && strings.Contains(v.Name, "-"+at.UTC().Format("20060102150405")+"-")
	if s := st.ownerOf(v); s != nil {
		if isGenerated {
			name = st.slotName(v, s, at)
		}
		return []string{"series " + nameOf(s) + " of " + claim + ": " + name}
	}
	if isGenerated {
		name = "a snapshot of " + claim
	}
	control := "without a controller"
	if ref := metav1.GetControllerOfNoCopy(v); ref != nil {
		control = "controlled by " + ref.Kind + " " + ref.Name
		if s := withUID(st.Schedules, ref.UID); s != nil {
			control = "controlled by " + nameOf(s) + " and not released"
		}
	}
	return []string{name, control}
}

// slotName returns the number of an interval's slot.
func (st *State) slotName(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule, at time.Time) string {
	spec, err := ReadSpec(&s.Spec)
	claim := st.claimOf(v)
	if err != nil || claim == nil || spec.interval == 0 {
		return "a slot"
	}
	since := at.Sub(Anchor(s, claim)) - spec.offset(string(claim.UID))
	if since < 0 || since%spec.interval != 0 {
		return "a requested slot"
	}
	return fmt.Sprintf("slot %d", since/spec.interval)
}

func traits(s *snapshotv1.VolumeSnapshot, now time.Time) (facts []string) {
	for _, trait := range []struct {
		is   bool
		fact string
	}{
		{isUncut(s), "uncut"}, {readyToUse(s), "ready"}, {inError(s), "in error"}, {isHeld(s, now), "held"},
		{s.DeletionTimestamp != nil, "being deleted"},
	} {
		if trait.is {
			facts = append(facts, trait.fact)
		}
	}
	return facts
}

// StatusErrors returns where the status of schedules contradicts the objects at a time.
func StatusErrors(st *State, now time.Time) (found []string) {
	for _, s := range st.Schedules {
		found = append(found, st.statusErrors(s, now)...)
		found = append(found, st.protectedErrors(s, now)...)
	}
	slices.Sort(found)
	return found
}

// statusErrors compares the counts and times of a status with the objects at a time. While the spec is invalid, Stalled and RetentionPaused
// say so, and what depends on the spec is absent.
func (st *State) statusErrors(s *v1alpha1.SnapshotSchedule, now time.Time) (wrong []string) {
	status := &s.Status
	fail := func(format string, args ...any) { wrong = append(wrong, s.Name+": "+fmt.Sprintf(format, args...)) }
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	switch {
	case s.DeletionTimestamp != nil:
		return nil // status is not updated any more
	case status.ObservedGeneration != s.Generation:
		fail("status is of generation %d, want %d", status.ObservedGeneration, s.Generation)
		return wrong
	case ready != nil && ready.Reason == v1alpha1.ReasonSnapshotAPIMissing:
		return nil // unknown
	}
	_, invalid := ReadSpec(&s.Spec)
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); c == nil ||
		(c.Status == metav1.ConditionTrue) != (invalid != nil) {
		fail("condition Stalled is absent or wrong; the spec is invalid: %t", invalid != nil)
	}
	got := v1alpha1.SnapshotScheduleStatus{
		Inputs: status.Inputs, Outputs: status.Outputs, Detached: status.Detached,
		LastSnapshotTime: status.LastSnapshotTime, OldestRecoveryPointTime: status.OldestRecoveryPointTime,
		RecoveryPointTime: status.RecoveryPointTime,
	}
	var want v1alpha1.SnapshotScheduleStatus
	if invalid == nil {
		want = st.wantStatus(s, now)
	} else {
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRetentionPaused)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonInvalidSpec {
			fail("retention is not paused, and the spec is invalid")
		}
		want.Outputs, got.NextSnapshotTime, got.MoreProblems = got.Outputs, status.NextSnapshotTime, status.MoreProblems
		got.NextSnapshot = status.NextSnapshot
		for _, p := range status.Problems {
			if p.Reason != v1alpha1.ReasonInvalidRequestedAt || p.PersistentVolumeClaim != "" {
				got.Problems = append(got.Problems, p)
			}
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(v1alpha1.InputCount{}, "Skipped")); diff != "" {
		fail("status is wrong (-want +got):\n%s", diff)
	}
	return wrong
}

// wantStatus returns the counts and times that the status of a schedule with a valid spec should have.
func (st *State) wantStatus(s *v1alpha1.SnapshotSchedule, now time.Time) v1alpha1.SnapshotScheduleStatus {
	status := v1alpha1.SnapshotScheduleStatus{Inputs: &v1alpha1.Inputs{}, Detached: &v1alpha1.Detached{}}
	var last, oldest time.Time
	noneReady := false
	for _, e := range st.allSeries(s, now) {
		last = later(last, e.newestSlot())
		status.Outputs.VolumeSnapshots.Total += int32(len(e.snapshots))
		for _, v := range e.snapshots {
			if IsReady(v) {
				status.Outputs.VolumeSnapshots.Ready++
			}
			if v.DeletionTimestamp != nil {
				status.Outputs.VolumeSnapshots.Terminating++
			}
		}
		switch {
		case e.selected():
			status.Inputs.PersistentVolumeClaims.Total++
		case len(e.snapshots) > 0:
			status.Detached.MapKeys++
			status.Detached.VolumeSnapshots += int32(len(e.snapshots))
		}
		if !e.takes() {
			continue
		}
		point := Anchor(s, e.claim)
		if ready := readyOnes(e.snapshots); len(ready) > 0 {
			point = ageBase(ready[0], now)
		} else {
			noneReady = true
		}
		if oldest.IsZero() || point.Before(oldest) {
			oldest = point
		}
	}
	status.LastSnapshotTime, status.OldestRecoveryPointTime = inSeconds(last), inSeconds(oldest)
	if !noneReady {
		status.RecoveryPointTime = status.OldestRecoveryPointTime
	}
	return status
}

// inSeconds returns a time as the API server stores it, nil for none.
func inSeconds(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at.Truncate(time.Second)}
}

// fleetErrors returns where the status of a ClusterSnapshotSchedule contradicts those of its children.
func (st *State) fleetErrors(f *v1alpha1.ClusterSnapshotSchedule) []string {
	switch {
	case f.DeletionTimestamp != nil:
		return nil
	case f.Status.ObservedGeneration != f.Generation:
		return []string{fmt.Sprintf("%s: status is of generation %d, want %d", f.Name, f.Status.ObservedGeneration, f.Generation)}
	}
	var want v1alpha1.OutputCount
	var oldest *metav1.Time
	for _, s := range st.Schedules {
		n := Named(st.Namespaces, s.Namespace)
		if fleetOf(s) != f.UID || n == nil || n.DeletionTimestamp != nil || !hasTags(s, f.Name) {
			continue
		}
		want.Total += s.Status.Outputs.VolumeSnapshots.Total
		want.Ready += s.Status.Outputs.VolumeSnapshots.Ready
		want.Terminating += s.Status.Outputs.VolumeSnapshots.Terminating
		if at := s.Status.OldestRecoveryPointTime; selects(f, n) && at != nil && (oldest == nil || at.Before(oldest)) {
			oldest = at
		}
	}
	if got := f.Status.VolumeSnapshots; got == nil || *got != want || !f.Status.OldestRecoveryPointTime.Equal(oldest) {
		return []string{fmt.Sprintf("%s: status has %v and the recovery point %v, want %v and %v",
			f.Name, got, f.Status.OldestRecoveryPointTime, want, oldest)}
	}
	return nil
}

// ReactionTime is within what time a due snapshot must be created and an expired one deleted, on a busy machine.
const ReactionTime = 10 * time.Second

// Late returns what was overdue all the time from one state to a later one, at least so long after it, for the PVCs that are not broken
// (L3). broken is a pattern of their names, as for path.Match; empty if none is.
func Late(before, after *State, at time.Time, within time.Duration, broken string) (found []string) {
	for _, s := range after.Schedules {
		was := withUID(before.Schedules, s.UID)
		if was == nil || was.Generation != s.Generation {
			continue
		}
		for _, e := range after.allSeries(s, at) {
			earlier := before.series(e.Spec, was, e.mapKey, at.Add(-within))
			excused := (earlier.claim == nil) != (e.claim == nil)
			if e.claim != nil && !excused {
				excused, _ = path.Match(broken, e.claim.Name)
			}
			if excused {
				continue
			}
			if slot := earlier.latestDue(); earlier.lacks(slot) && e.lacks(slot) && (e.ttl == 0 || e.now.Sub(slot) < e.ttl) {
				found = append(found, fmt.Sprintf("PVC %s/%s got no snapshot for slot %s", s.Namespace, e.claim.Name, slot.UTC().Format(time.RFC3339)))
			}
			for _, v := range e.snapshots {
				if had := withUID(earlier.snapshots, v.UID); had != nil && earlier.mustBeDeleted(had) && e.mustBeDeleted(v) {
					found = append(found, fmt.Sprintf("VolumeSnapshot %s/%s was not deleted", v.Namespace, v.Name))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// Unready returns the newest snapshots of PVCs that existed at a time and are not ready.
func Unready(st *State, since time.Time) (names []string) {
	for _, s := range st.Schedules {
		for _, e := range st.allSeries(s, time.Now()) {
			if v := e.newest(); v != nil && e.takes() && !IsReady(v) && v.CreationTimestamp.Time.Before(since) {
				names = append(names, v.Name)
			}
		}
	}
	return names
}

// latestDue returns the latest slot that is due; zero if none is.
func (e *series) latestDue() (slot time.Time) {
	if e.claim == nil {
		return slot
	}
	if at := e.requested(); !at.After(e.now) {
		slot = at
	}
	if !e.suspend {
		slot = later(slot, e.latestSlot(time.Time{}, e.now))
	}
	return slot
}

// lacks returns whether the PVC has no snapshot for a slot, although nothing blocks it.
func (e *series) lacks(slot time.Time) bool {
	return e.takes() && e.newestSlot().Before(slot) && !slices.ContainsFunc(e.snapshots, func(s *snapshotv1.VolumeSnapshot) bool {
		return isUncut(s) || e.inProgress(s)
	})
}

// protectionLag is for how long condition Protected may show what time alone has changed.
const protectionLag = time.Minute

// protectedErrors returns how condition Protected of a schedule with a valid spec contradicts the snapshots.
func (st *State) protectedErrors(s *v1alpha1.SnapshotSchedule, now time.Time) []string {
	if _, err := ReadSpec(&s.Spec); err != nil || s.DeletionTimestamp != nil {
		return nil
	}
	want := []string{st.protectedReason(s, now), st.protectedReason(s, now.Add(-protectionLag))}
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionProtected)
	if c != nil && slices.Contains(want, c.Reason) {
		return nil
	}
	return []string{fmt.Sprintf("%s: condition Protected is %+v, want one of %q", s.Name, c, want)}
}

// protectedReason returns the reason that condition Protected of a schedule with a valid spec has.
func (st *State) protectedReason(s *v1alpha1.SnapshotSchedule, now time.Time) string {
	var reasons []string // of each PVC
	for _, e := range st.allSeries(s, now) {
		if e.takes() {
			reasons = append(reasons, e.protectedReason())
		}
	}
	for _, reason := range []string{
		v1alpha1.ReasonRecoveryPointsOld, v1alpha1.ReasonRecoveryPointsCurrent, v1alpha1.ReasonFirstSnapshotsPending,
	} {
		if slices.Contains(reasons, reason) {
			return reason
		}
	}
	return v1alpha1.ReasonNoMatchingClaims
}

// protectedReason returns whether a ready snapshot covers the slot before the latest or, if none does, whether one should.
func (e *series) protectedReason() string {
	var covered time.Time
	for _, v := range readyOnes(e.snapshots) {
		if slot, ok := coveredSlot(v, e.now); ok {
			covered = later(covered, slot)
		}
	}
	// The line of slots has no beginning: what an earlier schedule of the name left counts by the slots before the anchor.
	anchor := e.first()
	begin, own := anchor, !covered.Before(anchor)
	switch {
	case covered.IsZero() || own:
	case e.interval == 0:
		begin = covered.Add(-time.Second)
	default:
		slots := int64(anchor.Sub(covered)/e.interval) + 2
		begin = anchor.Add(-time.Duration(slots * int64(e.interval)))
	}
	latest := e.Spec.latestSlot(begin, e.delay(), time.Time{}, e.now)
	previous := e.Spec.latestSlot(begin, e.delay(), time.Time{}, latest.Add(-time.Second))
	switch {
	case !covered.IsZero() && !covered.Before(previous):
		return v1alpha1.ReasonRecoveryPointsCurrent
	case !own && e.latestSlot(time.Time{}, e.now.Add(-e.readyDeadline)).IsZero():
		return v1alpha1.ReasonFirstSnapshotsPending
	}
	return v1alpha1.ReasonRecoveryPointsOld
}
