// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// What reads snapshots for the plugin.
var (
	ClaimsOf      = backup.ClaimsOf
	Claims        = backup.ClaimsOf
	DriverError   = backup.DriverError
	DrillWords    = backup.DrillWords
	GroupMember   = backup.GroupMember
	HeldUntil     = backup.HeldUntil
	LabeledMember = backup.LabeledMember
	Ready         = backup.Ready
	StateOf       = backup.StateOf
	Uncut         = backup.Uncut
)

// PerVolume returns how many snapshots the storage of a PVC takes of its volume, which class says so, and which of some
// snapshots and group snapshots are of it. A limit of zero is none.
func (c Classes) PerVolume(claim *corev1.PersistentVolumeClaim, all []client.Object) (limit int, class string, of []client.Object) {
	storage := c.capacityOf(driverOf(claim))
	for _, v := range volumesOf([]*corev1.PersistentVolumeClaim{claim}, storage, mapcontroller.Observation{Related: all}) {
		of = v.snapshots
	}
	return storage.perVolume, storage.perVolumeClass, of
}
