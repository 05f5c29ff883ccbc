// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// StateOf returns how far a VolumeSnapshot has come.
func StateOf(v *snapshotv1.VolumeSnapshot, now time.Time, readyDeadline time.Duration) retention.State {
	s := snapshotOf(v)
	return s.State(now, readyDeadline)
}

// PerVolume returns how many snapshots the storage of a PVC takes of its volume, which class says so, and which of some
// snapshots and group snapshots are of it. A limit of zero is none.
func (c Classes) PerVolume(claim *corev1.PersistentVolumeClaim, all []client.Object) (limit int, class string, of []client.Object) {
	v := volumeOf(claim, c.capacityOf(driverOf(claim)), mapcontroller.Observation{Related: all})
	return v.capacity.perVolume, v.capacity.perVolumeClass, v.snapshots
}
