// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SnapshotScheduleStatus is what the controller last saw.
type SnapshotScheduleStatus struct {
	// observedGeneration is the generation of the spec that this status speaks of.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// inputs counts what the schedule works on.
	//
	// +optional
	Inputs Inputs `json:"inputs"`

	// outputs counts what the schedule has made.
	//
	// +optional
	Outputs Outputs `json:"outputs"`

	// detached counts the snapshots whose PVC is gone or no longer selected.
	//
	// +optional
	Detached Detached `json:"detached"`

	// lastSnapshotTime is the newest slot among the owned snapshots.
	//
	// +optional
	LastSnapshotTime *metav1.Time `json:"lastSnapshotTime,omitempty"`

	// nextSnapshotTime is the earliest slot to come, over all PVCs. Absent while suspended.
	//
	// +optional
	NextSnapshotTime *metav1.Time `json:"nextSnapshotTime,omitempty"`

	// oldestRecoveryPoint is the age base of the newest ready snapshot of the PVC that is worst
	// off. A PVC without a ready snapshot counts with the time from which on it should have
	// had one.
	//
	// +optional
	OldestRecoveryPoint *metav1.Time `json:"oldestRecoveryPoint,omitempty"`

	// problems names what is wrong, the worst first, at most ten.
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Problems []Problem `json:"problems,omitempty"`

	// moreProblems is how many problems there are beyond those listed.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreProblems int32 `json:"moreProblems,omitempty"`

	// conditions are Ready and RetentionPaused.
	//
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Inputs counts what a schedule works on, by plural resource name.
type Inputs struct {
	// persistentvolumeclaims counts the matching PVCs.
	//
	// +optional
	PersistentVolumeClaims InputCount `json:"persistentvolumeclaims"`
}

// InputCount counts inputs of one kind.
type InputCount struct {
	// total is how many match.
	//
	// +required
	Total int32 `json:"total"`
}

// Outputs counts what a schedule has made, by plural resource name.
type Outputs struct {
	// volumesnapshots counts the snapshots that the schedule owns, over all PVCs.
	//
	// +optional
	VolumeSnapshots OutputCount `json:"volumesnapshots"`
}

// OutputCount counts outputs of one kind.
type OutputCount struct {
	// total is how many there are.
	//
	// +required
	Total int32 `json:"total"`

	// ready is how many of them are ready to use.
	//
	// +required
	Ready int32 `json:"ready"`
}

// Detached counts what has lost its input.
type Detached struct {
	// mapKeys is how many PVCs are gone or no longer selected while snapshots of theirs remain.
	//
	// +required
	MapKeys int32 `json:"mapKeys"`

	// volumesnapshots is how many snapshots of such PVCs there are.
	//
	// +required
	VolumeSnapshots int32 `json:"volumesnapshots"`
}

// Problem is one thing that is wrong.
type Problem struct {
	// persistentVolumeClaim is the name of the PVC. Empty if the problem is the schedule's own.
	//
	// +optional
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`

	// reason is one word for the kind of problem.
	//
	// +kubebuilder:validation:MinLength=1
	// +required
	Reason string `json:"reason"`

	// message explains it to a person.
	//
	// +optional
	Message string `json:"message,omitempty"`

	// since is when the problem was first seen.
	//
	// +required
	Since metav1.Time `json:"since"`
}
