// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// InFlight: no snapshot is created while as many of its driver as the limit are in flight. It is for histories in which the operator is
// shown all that exists when it starts, and nobody else creates snapshots of schedules.
func InFlight(h *history.History, limit int) []Violation {
	var found []Violation
	replay(h, func(i int, st *state) {
		c := &h.Changes[i]
		s, ok := c.After.(*snapshotv1.VolumeSnapshot)
		if !ok || c.Before != nil || !byOperator(h, i) {
			return
		}
		driver, n := st.driverOf(s), 0
		for _, other := range st.snapshots {
			if st.driverOf(other) == driver && st.inFlight(other, c.At) {
				n++
			}
		}
		if driver != "" && n >= limit {
			found = append(found, changeViolation("FLIGHT-1", h, i,
				"VolumeSnapshot %s/%s was created while %d of its driver were in flight, and the limit is %d", s.Namespace, s.Name, n, limit))
		}
	})
	return found
}

// driverOf returns the driver of the PVC that is the source of a schedule's snapshot; empty if it has none.
func (st *state) driverOf(s *snapshotv1.VolumeSnapshot) string {
	for _, c := range st.claims {
		if c.Namespace == s.Namespace && c.Name == ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "") && controllerOf(s) != "" {
			return provisionerOf(c)
		}
	}
	return ""
}

func provisionerOf(c *corev1.PersistentVolumeClaim) string {
	return c.Annotations["volume.kubernetes.io/storage-provisioner"]
}

// inFlight returns whether a snapshot counts at a time.
func (st *state) inFlight(s *snapshotv1.VolumeSnapshot, at time.Time) bool {
	longest := time.Hour
	if schedule := st.schedules[controllerOf(s)]; schedule != nil {
		if spec, err := ReadSpec(&schedule.Spec); err == nil {
			longest = min(longest, spec.readyDeadline)
		}
	}
	return isUncut(s) && s.DeletionTimestamp == nil && at.Sub(s.CreationTimestamp.Time) < longest
}
