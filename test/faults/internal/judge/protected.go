// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// protectionLag is for how long condition Protected may show what time alone has changed.
const protectionLag = time.Minute

// protectedErrors returns how condition Protected of a schedule with a valid spec contradicts the snapshots.
func (st *State) protectedErrors(s *v1alpha1.SnapshotSchedule, now time.Time) []string {
	want := append(st.protectedReasons(s, now), st.protectedReasons(s, now.Add(-protectionLag))...)
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionProtected)
	if c != nil && slices.Contains(want, c.Reason) {
		return nil
	}
	return []string{fmt.Sprintf("%s: condition Protected is %+v, want one of %q", s.Name, c, want)}
}

// protectedReasons returns the reasons that condition Protected of a schedule with a valid spec may have, one for each jitter offset that
// its PVCs may have.
func (st *State) protectedReasons(s *v1alpha1.SnapshotSchedule, now time.Time) (reasons []string) {
	var all []protection
	for _, e := range st.allSeries(s, now) {
		if e.takes() {
			all = append(all, e.protection())
		}
	}
	some := func(is func(protection) bool) bool { return slices.ContainsFunc(all, is) }
	mustBeOld := some(func(p protection) bool { return p.old && !p.current && !p.pending })
	mustBeCurrent := some(func(p protection) bool { return p.current && !p.old && !p.pending })
	for _, c := range []struct {
		may    bool
		reason string
	}{
		{some(func(p protection) bool { return p.old }), v1alpha1.ReasonRecoveryPointsOld},
		{some(func(p protection) bool { return p.current }) && !mustBeOld, v1alpha1.ReasonRecoveryPointsCurrent},
		{some(func(p protection) bool { return p.pending }) && !mustBeOld && !mustBeCurrent, v1alpha1.ReasonFirstSnapshotsPending},
		{len(all) == 0, v1alpha1.ReasonNoMatchingClaims},
	} {
		if c.may {
			reasons = append(reasons, c.reason)
		}
	}
	return reasons
}

// protection is what a PVC may be for some jitter offset: protected, unprotected, or too new to tell.
type protection struct{ current, old, pending bool }

func (e *series) protection() protection {
	anchor := Anchor(e.schedule, e.claim)
	var covered time.Time
	for _, v := range readyOnes(e.snapshots) {
		if slot, ok := coveredSlot(v, e.now); ok && !slot.Before(anchor) {
			covered = later(covered, slot)
		}
	}
	// The slot before the latest is at earliest that of the longest offset, and at latest that of none plus the offset.
	earliest := e.slotBeforeLatest(anchor)
	exact := *e
	spec := *e.Spec
	exact.Spec, spec.jitter = &spec, 0
	latest := exact.slotBeforeLatest(anchor)
	if !latest.IsZero() {
		latest = latest.Add(max(e.jitter-1, 0))
	}
	current, old := !covered.IsZero() && !covered.Before(earliest), covered.IsZero() || covered.Before(latest)
	_, isOverdue := exact.latestSlot(anchor, e.now.Add(-e.readyDeadline))
	_, mustBeOverdue := e.latestSlot(anchor, e.now.Add(-e.readyDeadline))
	if !covered.IsZero() { // no slot waits for a first snapshot
		isOverdue, mustBeOverdue = true, true
	}
	return protection{current: current, old: old && isOverdue, pending: old && !mustBeOverdue}
}

// slotBeforeLatest returns the slot before the latest that is due for every offset, without its offset; zero if there is none.
func (e *series) slotBeforeLatest(anchor time.Time) time.Time {
	latest, ok := e.latestSlot(anchor, e.now)
	if !ok {
		return time.Time{}
	}
	before, _ := e.latestSlot(anchor, latest.Add(e.jitter-time.Second))
	return before
}
