// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

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
	wrong = append(wrong, st.stuckErrors(s, now)...)
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

// StuckDeletes returns how many snapshots of a schedule that were cut are being deleted for so long that the storage does not finish it.
func (st *State) StuckDeletes(s *v1alpha1.SnapshotSchedule, now time.Time) (stuck int) {
	for _, e := range st.allSeries(s, now) {
		for _, v := range e.snapshots {
			if !isUncut(v) && IsStuck(v, e.Spec, now) {
				stuck++
			}
		}
	}
	return stuck
}

// IsStuck returns whether an object is being deleted for longer than the smaller of readyDeadline, at least a minute, and an hour.
func IsStuck(o client.Object, spec *Spec, now time.Time) bool {
	at := o.GetDeletionTimestamp()
	return at != nil && now.Sub(at.Time) >= min(max(spec.readyDeadline, time.Minute), time.Hour)
}

// stuckErrors returns whether the problem of deletes that do not end is absent or wrong.
func (st *State) stuckErrors(s *v1alpha1.SnapshotSchedule, now time.Time) []string {
	shown := slices.ContainsFunc(s.Status.Problems, func(p v1alpha1.Problem) bool { return p.Reason == v1alpha1.ReasonDeletionStuck })
	is, was := st.StuckDeletes(s, now), st.StuckDeletes(s, now.Add(-statusLag))
	if s.Status.MoreProblems > 0 || shown == (is > 0) || shown == (was > 0) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d deletes do not end, and status has problems %+v", s.Name, is, s.Status.Problems)}
}

// statusLag is for how long status may show what time alone has changed.
const statusLag = time.Minute

// protectedErrors returns how condition Protected of a schedule with a valid spec contradicts the snapshots.
func (st *State) protectedErrors(s *v1alpha1.SnapshotSchedule, now time.Time) []string {
	if _, err := ReadSpec(&s.Spec); err != nil || s.DeletionTimestamp != nil {
		return nil
	}
	want := []string{st.protectedReason(s, now), st.protectedReason(s, now.Add(-statusLag))}
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
