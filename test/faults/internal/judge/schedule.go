// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// schedule judges a write of a SnapshotSchedule by what it has made of it: nobody else has written in between.
func (j *AtWrite) schedule(ctx context.Context, st *state, a Attempt) (answered func(code int)) {
	before := named(st.schedules, a.Name)
	return func(code int) {
		if code >= 300 {
			return
		}
		after := &v1alpha1.SnapshotSchedule{}
		err := j.Live.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: a.Name}, after)
		j.mu.Lock()
		defer j.mu.Unlock()
		switch {
		case apierrors.IsNotFound(err):
			after = nil
		case err != nil:
			j.fail("cannot be judged", "%s of SnapshotSchedule %s: %v", a.Verb, a.Name, err)
			return
		}
		j.scheduleChange(st, a, before, after)
	}
}

func (j *AtWrite) scheduleChange(st *state, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	clause, why := "", ""
	switch {
	case before == nil && after == nil:
		return
	case before == nil:
		clause, why = j.versions.forbiddenCreate(after)
	case a.Verb == "delete" && before.DeletionTimestamp == nil:
		clause, why = st.deletesChild(before)
	case after == nil: // the last finalizer was removed, or the namespace controller deleted it meanwhile
	case fleetOf(before) != "" || fleetOf(after) != "":
		if !sameButStatus(before, after) {
			clause, why = j.versions.forbiddenUpdate(before, after, func() bool { return j.adopted[before.UID] })
		}
		j.adopted[before.UID] = j.adopted[before.UID] || fleetOf(before) == ""
	case !reflect.DeepEqual(before.Spec, after.Spec), !sameTags(before, after):
		clause, why = "S1", "the operator changed its spec, labels or annotations"
	}
	if why != "" {
		j.fail(clause, "SnapshotSchedule %s: %s", a.Name, why)
	}
	if before == nil {
		return
	}
	j.promises(st, a, before, after)
	if after != nil {
		j.counts(st, a, before, after)
	}
}

// counts judges what a new status counts: no more ready ones than there are, and no fewer than there were when the operator started. A
// label or an owner that was changed later is not known here: workloads that do that count for themselves.
func (j *AtWrite) counts(st *state, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
	count := after.Status.Outputs.VolumeSnapshots
	if count.Ready > count.Total {
		j.fail("S1", "the status of SnapshotSchedule %s counts %d ready of %d snapshots", a.Name, count.Ready, count.Total)
	}
	have := 0
	for _, v := range st.snapshots {
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

// deletesChild returns why a schedule must not be deleted: only the child of a ClusterSnapshotSchedule is, if its namespace is not
// selected, it has observed that it is suspended, and no snapshot of it is left.
func (st *state) deletesChild(child *v1alpha1.SnapshotSchedule) (clause, why string) {
	f, n := named(st.fleets, child.Name), named(st.namespaces, child.Namespace)
	switch {
	case fleetOf(child) == "" || f == nil || f.UID != fleetOf(child) || !hasTags(child, f.Name):
		return "FLEET-3", "it was deleted, and is not the child of a ClusterSnapshotSchedule"
	case child.Status.ObservedGeneration != child.Generation:
		return "FLEET-4", "it was deleted before it had observed its spec"
	case n == nil || selects(f, n) || !reflect.DeepEqual(child.Spec, childSpec(f, false)):
		return "FLEET-4", "it was deleted, and its namespace was selected or it was not suspended"
	case st.hasSnapshots(child):
		return "FLEET-4", "it was deleted while snapshots of it were left"
	}
	return "", ""
}

// promises judges S8: under deletionPolicy Orphan no snapshot refers to a schedule that reports its generation, or loses its finalizer.
func (j *AtWrite) promises(st *state, a Attempt, before, after *v1alpha1.SnapshotSchedule) {
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
	for _, v := range st.snapshots {
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
