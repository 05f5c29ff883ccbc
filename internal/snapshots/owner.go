// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// Ownership decides which VolumeSnapshots are a SnapshotSchedule's, for the operator and
// for the plugin.
var Ownership = mapcontroller.Ownership{
	Tags:   mapcontroller.Tags{MapKey: v1alpha1.LabelMapKey, Parent: v1alpha1.LabelSchedule},
	Parent: v1alpha1.GroupVersion.WithKind("SnapshotSchedule"),
	OwnsByLabels: func(parent client.Object) bool {
		return parent.(*v1alpha1.SnapshotSchedule).Spec.DeletionPolicy == v1alpha1.DeletionOrphan
	},
	Foreign: backup.GroupMember,
}

// Refers returns whether a snapshot has an owner reference to a schedule, of a controller
// or not.
func Refers(snapshot client.Object, s *v1alpha1.SnapshotSchedule) bool {
	return mapcontroller.Refers(snapshot, s)
}

// CollectedWith returns whether the garbage collector deletes a snapshot with a schedule.
func CollectedWith(snapshot client.Object, s *v1alpha1.SnapshotSchedule) bool {
	return mapcontroller.CollectedWith(snapshot, s)
}
