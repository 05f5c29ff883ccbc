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
		if slot, ok := coveredSlot(v, e.now); ok && !slot.Before(Anchor(e.schedule, e.claim)) {
			covered = later(covered, slot)
		}
	}
	latest := e.latestSlot(time.Time{}, e.now)
	previous := e.latestSlot(time.Time{}, latest.Add(-time.Second))
	switch {
	case !covered.IsZero() && !covered.Before(previous):
		return v1alpha1.ReasonRecoveryPointsCurrent
	case e.latestSlot(time.Time{}, e.now.Add(-e.readyDeadline)).IsZero():
		return v1alpha1.ReasonFirstSnapshotsPending
	}
	return v1alpha1.ReasonRecoveryPointsOld
}
