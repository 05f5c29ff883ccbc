// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Prefix begins every label and annotation key that belongs to this controller. A
// snapshotTemplate can't set keys under it.
const Prefix = GroupName + "/"

// Labels that every VolumeSnapshot of a schedule carries.
const (
	// LabelMapKey holds the map key: the UID of the PVC that the snapshot was taken of.
	// Taking it off an owned snapshot takes the snapshot out of the schedule for good.
	LabelMapKey = Prefix + "map-key"

	// LabelSchedule holds the name of the SnapshotSchedule. With LabelMapKey it lets an
	// orphan find its way back to a schedule of that name.
	LabelSchedule = Prefix + "schedule"
)

// Annotations.
const (
	// AnnotationScheduledAt, on a VolumeSnapshot, is the slot that it serves: RFC 3339, UTC.
	AnnotationScheduledAt = Prefix + "scheduled-at"

	// AnnotationRequestedAt, on a SnapshotSchedule (for all its PVCs) or on one PVC, asks for
	// one more snapshot at that time: RFC 3339.
	AnnotationRequestedAt = Prefix + "requested-at"

	// AnnotationHold, on a VolumeSnapshot and with any value, keeps retention from deleting it.
	AnnotationHold = Prefix + "hold"
)

// FinalizerRelease is on a SnapshotSchedule only while its snapshots are to outlive it. It
// goes once every owned snapshot has been released.
const FinalizerRelease = Prefix + "release"
