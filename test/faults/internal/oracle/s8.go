// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// S8: under deletionPolicy Orphan no way of deleting the schedule deletes a snapshot. The garbage collector deletes those that refer to
// it. So none does when status reports the generation, when the operator removes its finalizer, and when a schedule whose generation was
// reported is gone. What another process wrote a moment before cannot be known, unless it was there when the operator started.
func S8(h *history.History) []Violation {
	var found []Violation
	since := map[types.UID]time.Time{} // since when a snapshot refers to a schedule
	replay(h, func(i int, st *state) {
		c := &h.Changes[i]
		if o, ok := c.After.(*snapshotv1.VolumeSnapshot); ok && controllerOf(o) != "" {
			if _, known := since[o.UID]; !known {
				since[o.UID] = c.At
			}
		} else if ok {
			delete(since, o.UID)
		}
		before, _ := c.Before.(*v1alpha1.SnapshotSchedule)
		after, _ := c.After.(*v1alpha1.SnapshotSchedule)
		if before == nil || !ownsByLabels(before) {
			return
		}
		var what string
		switch {
		case after == nil && promised(before):
			what = "was removed after its generation was reported"
		case byOperator(h, i) && hasFinalizer(before) && !hasFinalizer(after):
			what = "lost its finalizer"
		case byOperator(h, i) && after != nil && promised(after) && !promised(before):
			what = "reports its generation"
		default:
			return
		}
		var left []string
		for uid, v := range st.snapshots {
			if refers(v, before.UID) && (c.At.Sub(since[uid]) > recordingSlack || since[uid].Before(h.Began)) {
				left = append(left, v.Name)
			}
		}
		if len(left) > 0 {
			found = append(found, changeViolation("S8", h, i, "SnapshotSchedule %s/%s %s while %d snapshots refer to it, %s among them",
				before.Namespace, before.Name, what, len(left), slices.Min(left)))
		}
	})
	return found
}

// promised returns whether the status of a schedule reports its generation. A deletion increases it.
func promised(s *v1alpha1.SnapshotSchedule) bool {
	observed := s.Status.ObservedGeneration
	return observed == s.Generation || s.DeletionTimestamp != nil && observed == s.Generation-1
}

func hasFinalizer(s *v1alpha1.SnapshotSchedule) bool {
	return s != nil && slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease)
}

func refers(v *snapshotv1.VolumeSnapshot, schedule types.UID) bool {
	return slices.ContainsFunc(v.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == schedule })
}
