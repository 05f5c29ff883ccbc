// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// InFlight: no snapshot is created while as many of its driver as the limit are in flight; unknown drivers count as one. It is for
// histories of one namespace, in which the operator is shown all that exists when it starts.
func InFlight(h *history.History, limit int) []Violation {
	var found []Violation
	replay(h, func(i int, st *state) {
		c := &h.Changes[i]
		s, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil || !byOperator(h, i) {
			return
		}
		driver, known := st.driverOf(s)
		n := 0
		for _, other := range st.snapshots {
			if of, made := st.driverOf(other); made && of == driver && st.inFlight(other, c.At) {
				n++
			}
		}
		if known && n >= limit {
			found = append(found, changeViolation("FLIGHT-1", h, i,
				"VolumeSnapshot %s/%s was created while %d of its driver were in flight, and the limit is %d", s.Namespace, s.Name, n, limit))
		}
	})
	return found
}

// driverOf returns the driver of the PVC that is the source of a schedule's snapshot, empty if it is unknown; not ok for one that somebody
// else made: its PVC does not exist, or the operator would have named it differently.
func (st *state) driverOf(s *snapshotv1.VolumeSnapshot) (driver string, ok bool) {
	slot, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	for _, c := range st.claims {
		if err == nil && c.Namespace == s.Namespace && s.Name == builders.SnapshotName(controllerOf(s), c, slot) {
			return provisionerOf(c), true
		}
	}
	return "", false
}

func provisionerOf(c *corev1.PersistentVolumeClaim) string {
	return c.Annotations["volume.kubernetes.io/storage-provisioner"]
}

// inFlight returns whether a snapshot counts at a time.
func (st *state) inFlight(s *snapshotv1.VolumeSnapshot, at time.Time) bool {
	longest := time.Hour
	if schedule := st.schedules[controllerOf(s)]; schedule != nil {
		if spec, err := ReadSpec(&schedule.Spec); err == nil {
			longest = min(longest, max(spec.readyDeadline, time.Minute))
		}
	}
	return isUncut(s) && s.DeletionTimestamp == nil && at.Sub(s.CreationTimestamp.Time) < longest
}
