// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
	Foreign: GroupMember,
}

// isGroup returns whether an owner is what the snapshot controller makes members for, of
// any version. The reference is not one of a controller.
func isGroup(owner metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return group == "groupsnapshot.storage.k8s.io" && owner.Kind == "VolumeGroupSnapshot"
}

// GroupMember returns whether a VolumeSnapshot is a member of a VolumeGroupSnapshot. Its
// data belongs to the group: the deletion of a member deletes none of it, never ends, and
// cannot be revoked.
func GroupMember(o client.Object) bool {
	if slices.ContainsFunc(o.GetOwnerReferences(), isGroup) {
		return true
	}
	v, ok := o.(*snapshotv1.VolumeSnapshot) // else only the metadata is known
	return ok && v.Status != nil && v.Status.VolumeGroupSnapshotName != nil
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
