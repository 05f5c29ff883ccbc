// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"reflect"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// schedule judges a write of a SnapshotSchedule by what it has made of it: nobody else has written in between.
func (j *AtWrite) schedule(st *State, a Attempt) (answered func(code int)) {
	before := Named(st.Schedules, a.Name)
	return func(code int) {
		if code >= 300 {
			return
		}
		after := Named(StateOf(j.Objects()).Schedules, a.Name)
		j.mu.Lock()
		defer j.mu.Unlock()
		j.scheduleChange(st, a, before, after)
	}
}

func (j *AtWrite) scheduleChange(st *State, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	switch {
	case before == nil, a.Verb == "delete":
		j.fail("S1", "%s of SnapshotSchedule %s", a.Verb, a.Name)
		return
	case after == nil: // the last finalizer was removed
	case !reflect.DeepEqual(before.Spec, after.Spec), !sameTags(before, after):
		j.fail("S1", "SnapshotSchedule %s: the operator changed its spec, labels or annotations", a.Name)
	}
	j.promises(st, a, before, after)
	if after != nil {
		j.counts(st, a, before, after)
	}
}

// counts judges what a new status counts: no more ready ones than there are, and no fewer than there were when the operator started. A
// label or an owner that was changed later is not known here: workloads that do that count for themselves.
func (j *AtWrite) counts(st *State, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	count := after.Status.Outputs.VolumeSnapshots
	if count.Ready > count.Total {
		j.fail("S1", "the status of SnapshotSchedule %s counts %d ready of %d snapshots", a.Name, count.Ready, count.Total)
	}
	have := 0
	for _, v := range st.Snapshots {
		if Owned(v, after) && v.CreationTimestamp.Time.Before(a.Started.Truncate(time.Second)) {
			have++
		}
	}
	if a.Sees && counted(&before.Status, after) && int(count.Total) < have {
		j.fail("STAT-12", "the status of SnapshotSchedule %s counts %d snapshots under generation %d; it had %d when the operator started",
			a.Name, count.Total, after.Generation, have)
	}
}

// counted returns whether a write of the status counts snapshots: it changes the count, or names the present generation. Of an invalid
// spec, the count may be absent.
func counted(before *v1alpha1.SnapshotScheduleStatus, s *v1alpha1.SnapshotSchedule) bool {
	status := &s.Status
	return status.ObservedGeneration == s.Generation && status.Inputs != nil &&
		(before.ObservedGeneration != status.ObservedGeneration || before.Inputs == nil || before.Outputs != status.Outputs)
}

// promises judges S8: under deletionPolicy Orphan no snapshot refers to a schedule that reports its generation, or loses its finalizer.
func (j *AtWrite) promises(st *State, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	var what string
	switch {
	case !OwnsByLabels(before):
		return
	case hasFinalizer(before) && !hasFinalizer(after):
		what = "lost its finalizer"
	case after != nil && promised(after) && !promised(before):
		what = "reports its generation"
	default:
		return
	}
	var left []string
	for _, v := range st.Snapshots {
		if refers(v, before.UID) {
			left = append(left, v.Name)
		}
	}
	if len(left) > 0 {
		j.fail("S8", "SnapshotSchedule %s %s while %d snapshots refer to it, %s among them", a.Name, what, len(left), slices.Min(left))
	}
}

// promised returns whether the status of a schedule reports its generation. A deletion increases it.
func promised(s *v1alpha1.SnapshotSchedule) bool {
	observed := s.Status.ObservedGeneration
	return observed == s.Generation || s.DeletionTimestamp != nil && observed == s.Generation-1
}

func hasFinalizer(s *v1alpha1.SnapshotSchedule) bool {
	return s != nil && slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease)
}

// versions are all that schedules have been so far, apart from their status.
type versions []*v1alpha1.SnapshotSchedule

// with adds schedules, unless they have the spec and the metadata of one that is known.
func (v versions) with(all []*v1alpha1.SnapshotSchedule) versions {
	for _, s := range all {
		known := slices.ContainsFunc(v, func(have *v1alpha1.SnapshotSchedule) bool {
			return have.UID == s.UID && have.Generation == s.Generation && have.DeletionTimestamp.Equal(s.DeletionTimestamp) && sameTags(have, s)
		})
		if !known {
			v = append(v, s)
		}
	}
	return v
}

// labeling returns the last schedule whose labels a snapshot carries that nothing controls.
func (v versions) labeling(s *snapshotv1.VolumeSnapshot) (last *v1alpha1.SnapshotSchedule) {
	for _, schedule := range v {
		if IsTagged(s, schedule) && metav1.GetControllerOfNoCopy(s) == nil {
			last = schedule
		}
	}
	return last
}
