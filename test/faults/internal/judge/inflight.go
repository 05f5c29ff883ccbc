// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

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
