// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// The children of ClusterSnapshotSchedules, and their status, after a run. In a run both have the name of the run's namespace,
// which differs between runs.
const fleetName = "gold"

// nameOf returns the name of a schedule that is the same in two equal runs.
func nameOf(s *v1alpha1.SnapshotSchedule) string {
	if s.Name == s.Namespace {
		return fleetName
	}
	return s.Name
}

// describeFleet returns what is the same in two equal runs of a ClusterSnapshotSchedule's status.
func describeFleet(f *v1alpha1.ClusterSnapshotSchedule) []string {
	var facts []string
	for _, c := range f.Status.Conditions {
		facts = append(facts, fmt.Sprintf("%s=%s, %s", c.Type, c.Status, c.Reason))
	}
	for _, p := range f.Status.Problems {
		facts = append(facts, "problem: "+p.Reason)
	}
	if f.DeletionTimestamp != nil {
		facts = append(facts, "being deleted")
	}
	slices.Sort(facts)
	return facts
}

// fleetErrors returns where the children of a ClusterSnapshotSchedule are not as it asks, and where its status contradicts them.
func (st *state) fleetErrors(f *v1alpha1.ClusterSnapshotSchedule) []string {
	if f.DeletionTimestamp != nil {
		return nil
	}
	if f.Status.ObservedGeneration != f.Generation {
		return []string{fmt.Sprintf("%s: status is of generation %d, want %d", f.Name, f.Status.ObservedGeneration, f.Generation)}
	}
	var wrong []string
	for _, n := range st.namespaces {
		if why := st.childError(f, n.Name, selects(f, n)); why != "" && n.DeletionTimestamp == nil {
			wrong = append(wrong, fmt.Sprintf("%s: namespace %s: %s", f.Name, n.Name, why))
		}
	}
	want := st.wantFleetStatus(f)
	got := f.Status
	if !reflect.DeepEqual(got.Inputs, want.Inputs) || got.Outputs != want.Outputs || !reflect.DeepEqual(got.Detached, want.Detached) ||
		!reflect.DeepEqual(got.PersistentVolumeClaims, want.PersistentVolumeClaims) || !reflect.DeepEqual(got.VolumeSnapshots, want.VolumeSnapshots) {
		wrong = append(wrong, fmt.Sprintf("%s: status counts %s, want %s", f.Name, countsOf(got), countsOf(want)))
	}
	if instant(got.OldestRecoveryPointTime) != instant(want.OldestRecoveryPointTime) {
		wrong = append(wrong, fmt.Sprintf("%s: status.oldestRecoveryPointTime is %v, want %v", f.Name, got.OldestRecoveryPointTime, want.OldestRecoveryPointTime))
	}
	return wrong
}

// childError returns what is wrong with the child in a namespace.
func (st *state) childError(f *v1alpha1.ClusterSnapshotSchedule, namespace string, selected bool) string {
	var child *v1alpha1.SnapshotSchedule
	for _, s := range st.schedules {
		if s.Namespace == namespace && s.Name == f.Name {
			child = s
		}
	}
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
		n := st.namespaces[s.Namespace]
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

func countsOf(s v1alpha1.ClusterSnapshotScheduleStatus) string {
	if s.Inputs == nil || s.Detached == nil || s.PersistentVolumeClaims == nil || s.VolumeSnapshots == nil {
		return "nothing"
	}
	return fmt.Sprintf("%+v %+v %+v %+v %+v", *s.Inputs, s.Outputs, *s.Detached, *s.PersistentVolumeClaims, *s.VolumeSnapshots)
}
