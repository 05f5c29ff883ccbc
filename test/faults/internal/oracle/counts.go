// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// Counts: no status that the operator writes under the present generation counts fewer snapshots than the schedule had when the process
// started and has had since. What came later its cache may not show yet. It is for histories in which each process is shown all that
// exists when it starts.
func Counts(h *history.History) []Violation {
	var found []Violation
	// since is when a snapshot became what it is to a schedule: when it was created, or its labels or owners changed.
	since := map[types.UID]time.Time{}
	replay(h, func(i int, st *state) {
		c := &h.Changes[i]
		if v, ok := c.After.(*snapshotv1.VolumeSnapshot); ok && belongs(c.Before) != belongs(v) {
			since[v.UID] = c.At
		}
		before, _ := c.Before.(*v1alpha1.SnapshotSchedule)
		after, ok := c.After.(*v1alpha1.SnapshotSchedule)
		if !ok || before == nil || !byOperator(h, i) || !counted(&before.Status, after) {
			return
		}
		started, n := processStart(h, h.Requests[c.Request].Process), 0
		for _, v := range st.snapshots {
			if owned(v, after) && since[v.UID].Before(started) {
				n++
			}
		}
		if total := int(after.Status.Outputs.VolumeSnapshots.Total); total < n {
			found = append(found, changeViolation("STAT-12", h, i,
				"the status of SnapshotSchedule %s/%s counts %d snapshots under generation %d; it had %d when the operator started",
				after.Namespace, after.Name, total, after.Generation, n))
		}
	})
	return found
}

// belongs is what decides to which series a snapshot belongs.
func belongs(o any) (b [3]string) {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	if !ok || v == nil {
		return b
	}
	b = [3]string{v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule], "none"}
	if ref := metav1.GetControllerOfNoCopy(v); ref != nil {
		b[2] = string(ref.UID)
	}
	return b
}

// counted returns whether a write of the status counts snapshots: it changes the count, or names the present generation. Of an invalid
// spec, the count may be absent.
func counted(before *v1alpha1.SnapshotScheduleStatus, s *v1alpha1.SnapshotSchedule) bool {
	status := &s.Status
	return status.ObservedGeneration == s.Generation && status.Inputs != nil &&
		(before.ObservedGeneration != status.ObservedGeneration || before.Inputs == nil || before.Outputs != status.Outputs)
}

// processStart returns when a process of the operator started.
func processStart(h *history.History, process int) time.Time {
	for _, w := range h.Windows {
		if w.Kind == history.Unsynced && w.Process == process {
			return w.From
		}
	}
	return h.Began
}
