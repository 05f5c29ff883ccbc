// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// StatusErrors returns where the status of schedules contradicts the objects at a time.
func StatusErrors(objects []client.Object, now time.Time) (found []string) {
	st := stateOf(objects)
	for _, s := range st.schedules {
		found = append(found, st.statusErrors(s, now)...)
	}
	slices.Sort(found)
	return found
}

// statusErrors compares the counts and times of a status with the objects, at a time or, if now is forever, at any time. While the spec is
// invalid, Stalled and RetentionPaused say so, and what depends on the spec is absent.
func (st *state) statusErrors(s *v1alpha1.SnapshotSchedule, now time.Time) (wrong []string) {
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
	}
	var want v1alpha1.SnapshotScheduleStatus
	if invalid == nil {
		want = st.wantStatus(s, now)
		if !now.Equal(forever) {
			wrong = append(wrong, st.protectedErrors(s, now)...)
		}
	} else {
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRetentionPaused)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonInvalidSpec {
			fail("retention is not paused, and the spec is invalid")
		}
		want.Outputs, got.NextSnapshotTime, got.MoreProblems = got.Outputs, status.NextSnapshotTime, status.MoreProblems
		for _, p := range status.Problems {
			if p.Reason != v1alpha1.ReasonInvalidRequestedAt || p.PersistentVolumeClaim != "" {
				got.Problems = append(got.Problems, p)
			}
		}
	}
	if now.Equal(forever) && st.hasFutureTimes() { // the times depend on when status was computed
		want.LastSnapshotTime, want.OldestRecoveryPointTime = got.LastSnapshotTime, got.OldestRecoveryPointTime
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(v1alpha1.InputCount{}, "Skipped")); diff != "" {
		fail("status is wrong (-want +got):\n%s", diff)
	}
	return wrong
}

// hasFutureTimes returns whether the slot or the cut of a snapshot is well after its creation.
func (st *state) hasFutureTimes() bool {
	return slices.ContainsFunc(st.snapshots, func(v *snapshotv1.VolumeSnapshot) bool {
		cut, _ := cutTime(v)
		return later(cut, slotOf(v, forever)).After(v.CreationTimestamp.Add(24 * time.Hour))
	})
}

// wantStatus returns the counts and times that the status of a schedule with a valid spec should have.
func (st *state) wantStatus(s *v1alpha1.SnapshotSchedule, now time.Time) v1alpha1.SnapshotScheduleStatus {
	status := v1alpha1.SnapshotScheduleStatus{Inputs: &v1alpha1.Inputs{}, Detached: &v1alpha1.Detached{}}
	var last, oldest time.Time
	for _, e := range st.allSeries(s, now) {
		last = later(last, e.newestSlot())
		status.Outputs.VolumeSnapshots.Total += int32(len(e.snapshots))
		for _, v := range e.snapshots {
			if readyToUse(v) {
				status.Outputs.VolumeSnapshots.Ready++
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
		}
		if oldest.IsZero() || point.Before(oldest) {
			oldest = point
		}
	}
	status.LastSnapshotTime, status.OldestRecoveryPointTime = inSeconds(last), inSeconds(oldest)
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
func (st *state) fleetErrors(f *v1alpha1.ClusterSnapshotSchedule) []string {
	switch {
	case f.DeletionTimestamp != nil:
		return nil
	case f.Status.ObservedGeneration != f.Generation:
		return []string{fmt.Sprintf("%s: status is of generation %d, want %d", f.Name, f.Status.ObservedGeneration, f.Generation)}
	}
	var want v1alpha1.OutputCount
	var oldest *metav1.Time
	for _, s := range st.schedules {
		n := named(st.namespaces, s.Namespace)
		if fleetOf(s) != f.UID || n == nil || n.DeletionTimestamp != nil || !hasTags(s, f.Name) {
			continue
		}
		want.Total += s.Status.Outputs.VolumeSnapshots.Total
		want.Ready += s.Status.Outputs.VolumeSnapshots.Ready
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
