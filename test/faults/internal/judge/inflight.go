// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"

	"mapcontroller.dev/snapshotschedule/test/internal/builders"
)

// judgeInFlight judges the create of a snapshot by those of any schedule that are in flight.
func (j *AtWrite) judgeInFlight(st *State, a Attempt) {
	have := 0
	for _, v := range st.Snapshots {
		if j.isKnown(a, v) && st.isTaken(v) && j.isTagged(v) && j.isInFlight(v) {
			have++
		}
	}
	if j.InFlight > 0 && have >= j.InFlight {
		j.fail("FLIGHT-1", "VolumeSnapshot %s was created while %d were in flight, and the limit is %d", a.Name, have, j.InFlight)
	}
}

// isKnown returns whether an operator must count a snapshot. What another one created after it had started may be in none of its lists: a
// request of a process that has crashed is committed later.
func (j *AtWrite) isKnown(a Attempt, v *snapshotv1.VolumeSnapshot) bool {
	by, created := j.creators[v.Name]
	return a.Sees && (!created || by.Equal(a.Started) || v.CreationTimestamp.Time.Before(a.Started.Truncate(time.Second)))
}

// isTaken returns whether a schedule took a snapshot of a PVC that exists. The operator would have named one that a user made otherwise.
func (st *State) isTaken(v *snapshotv1.VolumeSnapshot) bool {
	at, ok := scheduledAt(v)
	return ok && slices.ContainsFunc(st.Claims, func(c *corev1.PersistentVolumeClaim) bool {
		return c.Namespace == v.Namespace && v.Name == builders.SnapshotName(controllerOf(v), c, at)
	})
}

// isTagged returns whether a snapshot carries the labels of its schedule. What a user has released by its labels, no operator sees.
func (j *AtWrite) isTagged(v *snapshotv1.VolumeSnapshot) bool {
	for _, s := range j.versions {
		if s.UID == controllerOf(v) && IsTagged(v, s) {
			return true
		}
	}
	return false
}

// isInFlight returns whether a snapshot is uncut, and not for long under any spec so far: an operator need not know the present one.
func (j *AtWrite) isInFlight(v *snapshotv1.VolumeSnapshot) bool {
	limit := time.Hour
	for _, s := range j.versions {
		if spec, err := ReadSpec(&s.Spec); err == nil && s.UID == controllerOf(v) {
			limit = min(limit, max(spec.readyDeadline, time.Minute))
		}
	}
	return isUncut(v) && v.DeletionTimestamp == nil && time.Since(v.CreationTimestamp.Time) < limit
}
