// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"context"
	"reflect"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// schedule judges a write of a SnapshotSchedule by what it has made of it: nobody else has written in between.
func (j *AtWrite) schedule(ctx context.Context, st *state, a Attempt) (answered func(code int)) {
	var before *v1alpha1.SnapshotSchedule
	for _, s := range st.schedules {
		if s.Name == a.Name {
			before = s
		}
	}
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
	case before.DeletionTimestamp == nil && (after == nil || after.DeletionTimestamp != nil):
		clause, why = st.deletesChild(before)
	case after == nil: // the last finalizer was removed
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
	if after != nil && a.Sees && counted(&before.Status, after) {
		if have, total := st.countOf(after, a.Started), int(after.Status.Outputs.VolumeSnapshots.Total); total < have {
			j.fail("STAT-12", "the status of SnapshotSchedule %s counts %d snapshots under generation %d; it had %d when the operator started",
				a.Name, total, after.Generation, have)
		}
	}
}

// deletesChild returns why a schedule must not be deleted: only the child of a ClusterSnapshotSchedule is, if its namespace is not
// selected, it has observed that it is suspended, and no snapshot of it is left.
func (st *state) deletesChild(child *v1alpha1.SnapshotSchedule) (clause, why string) {
	f, n := st.fleets[child.Name], st.namespaces[child.Namespace]
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
	case !ownsByLabels(before):
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

// countOf returns how many snapshots a schedule has that it had at a time. A label or an owner that was changed later is not known here:
// workloads that do that count for themselves.
func (st *state) countOf(s *v1alpha1.SnapshotSchedule, then time.Time) (n int) {
	for _, v := range st.snapshots {
		if owned(v, s) && v.CreationTimestamp.Time.Before(then.Truncate(time.Second)) {
			n++
		}
	}
	return n
}

// notAdoptable returns why a patch of a snapshot that no schedule controls is not the adoption of an orphan.
func (st *state) notAdoptable(before, after *snapshotv1.VolumeSnapshot) string {
	s := st.schedules[controllerOf(after)]
	switch {
	case metav1.GetControllerOfNoCopy(before) != nil, controllerOf(after) == "":
		return "it was patched, and " + controlOf(before)
	case before.DeletionTimestamp != nil:
		return "it was adopted while it was being deleted"
	case before.Labels[v1alpha1.LabelMapKey] == "":
		return "it was adopted without a map key"
	case slices.ContainsFunc(before.OwnerReferences, isGroup):
		return "it was adopted, and is a member of a VolumeGroupSnapshot"
	case s == nil || s.DeletionTimestamp != nil || ownsByLabels(s) || s.Name != before.Labels[v1alpha1.LabelSchedule]:
		return "it was adopted by a schedule that is gone or being deleted, that owns by labels, or that its label does not name"
	}
	return ""
}
