// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
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
