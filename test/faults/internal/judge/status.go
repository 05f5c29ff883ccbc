// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"reflect"
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
	switch {
	case invalid == nil:
		want = st.wantStatus(s, now)
	default:
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

// fleetErrors returns where the children of a ClusterSnapshotSchedule are not as it asks, and where its status contradicts them.
func (st *state) fleetErrors(f *v1alpha1.ClusterSnapshotSchedule) (wrong []string) {
	if f.DeletionTimestamp != nil {
		return nil
	}
	if f.Status.ObservedGeneration != f.Generation {
		return []string{fmt.Sprintf("%s: status is of generation %d, want %d", f.Name, f.Status.ObservedGeneration, f.Generation)}
	}
	for _, n := range st.namespaces {
		if why := st.childError(f, n.Name, selects(f, n)); why != "" && n.DeletionTimestamp == nil {
			wrong = append(wrong, fmt.Sprintf("%s: namespace %s: %s", f.Name, n.Name, why))
		}
	}
	got := v1alpha1.ClusterSnapshotScheduleStatus{
		Inputs: f.Status.Inputs, Outputs: f.Status.Outputs, Detached: f.Status.Detached, VolumeSnapshots: f.Status.VolumeSnapshots,
		PersistentVolumeClaims: f.Status.PersistentVolumeClaims, OldestRecoveryPointTime: f.Status.OldestRecoveryPointTime,
	}
	if diff := cmp.Diff(st.wantFleetStatus(f), got); diff != "" {
		wrong = append(wrong, fmt.Sprintf("%s: status is wrong (-want +got):\n%s", f.Name, diff))
	}
	return wrong
}

// childError returns what is wrong with the child in a namespace.
func (st *state) childError(f *v1alpha1.ClusterSnapshotSchedule, namespace string, selected bool) string {
	child := find(st.schedules, func(s *v1alpha1.SnapshotSchedule) bool { return s.Namespace == namespace && s.Name == f.Name })
	switch {
	case child == nil && selected:
		return "it is selected and has no child"
	case child == nil:
		return ""
	case fleetOf(child) != f.UID && metav1.GetControllerOfNoCopy(child) == nil && hasTags(child, f.Name):
		return "its SnapshotSchedule should be adopted"
	case fleetOf(child) != f.UID:
		return "" // somebody else's
	case !reflect.DeepEqual(child.Spec, childSpec(f, selected)):
		return "the spec of its child is not the template's"
	case !selected && !st.hasSnapshots(child):
		return "it is not selected, and its child has no snapshots and should be deleted"
	}
	for key, value := range f.Spec.Template.Metadata.Labels {
		if child.Labels[key] != string(value) {
			return "its child lacks a label of the template"
		}
	}
	return ""
}

// wantFleetStatus returns the counts and the recovery point that a status should have, from the statuses of the children.
func (st *state) wantFleetStatus(f *v1alpha1.ClusterSnapshotSchedule) v1alpha1.ClusterSnapshotScheduleStatus {
	want := v1alpha1.ClusterSnapshotScheduleStatus{
		Inputs: &v1alpha1.ClusterInputs{}, Detached: &v1alpha1.ClusterDetached{},
		PersistentVolumeClaims: &v1alpha1.ClaimTotals{}, VolumeSnapshots: &v1alpha1.OutputCount{},
	}
	for _, n := range st.namespaces {
		if selects(f, n) {
			want.Inputs.Namespaces.Total++
		}
	}
	for _, s := range st.schedules {
		n := named(st.namespaces, s.Namespace)
		if fleetOf(s) != f.UID || n == nil || n.DeletionTimestamp != nil || !hasTags(s, f.Name) {
			continue
		}
		children := &want.Outputs.SnapshotSchedules
		children.Total++
		if reflect.DeepEqual(s.Spec, childSpec(f, selects(f, n))) && s.Status.ObservedGeneration == s.Generation {
			children.Updated++
		}
		if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) {
			children.Ready++
		}
		if !selects(f, n) {
			want.Detached.SnapshotSchedules++
		} else if at := s.Status.OldestRecoveryPointTime; at != nil && (want.OldestRecoveryPointTime == nil || at.Before(want.OldestRecoveryPointTime)) {
			want.OldestRecoveryPointTime = at
		}
		if in := s.Status.Inputs; in != nil {
			want.PersistentVolumeClaims.Total += in.PersistentVolumeClaims.Total
			want.PersistentVolumeClaims.Skipped += in.PersistentVolumeClaims.Skipped
		}
		want.VolumeSnapshots.Total += s.Status.Outputs.VolumeSnapshots.Total
		want.VolumeSnapshots.Ready += s.Status.Outputs.VolumeSnapshots.Ready
	}
	return want
}
