// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SnapshotScheduleStatus is the observed state of a SnapshotSchedule.
type SnapshotScheduleStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status describes.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// inputs counts the objects that the schedule selects, by resource. It is absent while
	// the spec is invalid.
	//
	// +optional
	Inputs *Inputs `json:"inputs,omitempty"`

	// outputs counts the objects that the schedule owns, by resource.
	//
	// +optional
	Outputs Outputs `json:"outputs"`

	// detached counts the snapshots whose PVC is deleted or no longer matches the selector.
	// They are included in outputs. It is absent while the spec is invalid.
	//
	// +optional
	Detached *Detached `json:"detached,omitempty"`

	// lastSnapshotTime is the time at which the schedule's newest snapshot was due, as its
	// annotation snapshots.mapcontroller.dev/scheduled-at records it.
	//
	// +optional
	LastSnapshotTime *metav1.Time `json:"lastSnapshotTime,omitempty"`

	// nextSnapshotTime is the earliest time at which a snapshot of any selected PVC is due
	// next. It is absent while the schedule is suspended.
	//
	// +optional
	NextSnapshotTime *metav1.Time `json:"nextSnapshotTime,omitempty"`

	// oldestRecoveryPoint is the oldest recovery point of all selected PVCs. The recovery
	// point of a PVC is the time of its newest ready snapshot: if the volume is lost,
	// everything written since then is lost. For a PVC without a ready snapshot it is the
	// creation time of the PVC or of the schedule, whichever is later.
	//
	// +optional
	OldestRecoveryPoint *metav1.Time `json:"oldestRecoveryPoint,omitempty"`

	// problems lists what is wrong, the most severe first. At most 10 problems are listed;
	// moreProblems counts the others.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Problems []Problem `json:"problems,omitempty"`

	// moreProblems is the number of problems that are not listed in problems.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreProblems int32 `json:"moreProblems,omitempty"`

	// conditions describe the state of the schedule. Ready is whether snapshots are taken as
	// the spec asks. Stalled is whether the spec is invalid, so that no snapshot is taken or
	// deleted until it is fixed. RetentionPaused is whether expired snapshots are kept because
	// deleting them would not be safe.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Inputs counts the objects that a schedule selects, by plural resource name.
type Inputs struct {
	// persistentvolumeclaims counts the PVCs that match the selector.
	//
	// +optional
	PersistentVolumeClaims InputCount `json:"persistentvolumeclaims"`
}

// InputCount counts the inputs of one kind.
type InputCount struct {
	// total is the number of objects that match the selector.
	//
	// +required
	Total int32 `json:"total"`

	// skipped is the number of objects that cannot be snapshotted now, and of which this is no
	// failure: PVCs that are not bound or are being deleted, and PVCs without snapshots whose
	// storage cannot be snapshotted, because no VolumeSnapshotClass belongs to its driver.
	//
	// +optional
	Skipped int32 `json:"skipped"`
}

// Outputs counts the objects that a schedule owns, by plural resource name.
type Outputs struct {
	// volumesnapshots counts the VolumeSnapshots that the schedule owns, over all PVCs.
	//
	// +optional
	VolumeSnapshots OutputCount `json:"volumesnapshots"`
}

// OutputCount counts the outputs of one kind.
type OutputCount struct {
	// total is the number of objects that the schedule owns.
	//
	// +required
	Total int32 `json:"total"`

	// ready is the number of objects that are ready. A VolumeSnapshot is ready when its
	// status.readyToUse is true: a PVC can be restored from it.
	//
	// +required
	Ready int32 `json:"ready"`
}

// Detached counts the outputs whose input is deleted or no longer selected.
type Detached struct {
	// mapKeys is the number of PVCs that are deleted or no longer match the selector and still
	// have snapshots.
	//
	// +required
	MapKeys int32 `json:"mapKeys"`

	// volumesnapshots is the number of snapshots of these PVCs.
	//
	// +required
	VolumeSnapshots int32 `json:"volumesnapshots"`
}

// Problem is a problem of one PVC, or of the whole schedule.
type Problem struct {
	// persistentVolumeClaim is the name of the PVC. It is empty if the problem concerns the
	// whole schedule.
	//
	// +optional
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`

	// reason is a CamelCase word for the kind of problem. Example: CreateFailed.
	//
	// +kubebuilder:validation:MinLength=1
	// +required
	Reason string `json:"reason"`

	// message is a human-readable description of the problem.
	//
	// +optional
	Message string `json:"message,omitempty"`

	// since is the time at which the problem was first observed.
	//
	// +required
	Since metav1.Time `json:"since"`
}
