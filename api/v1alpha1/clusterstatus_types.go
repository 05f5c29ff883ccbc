// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterSnapshotScheduleStatus is the observed state of a ClusterSnapshotSchedule.
type ClusterSnapshotScheduleStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status describes, and
	// -1 before the first one. outputs says how many SnapshotSchedules have the template's spec.
	// Example: 3.
	//
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// inputs counts the objects that are selected, by resource. It is absent while the spec is
	// invalid.
	//
	// +optional
	Inputs *ClusterInputs `json:"inputs,omitempty"`

	// outputs counts the objects that the ClusterSnapshotSchedule owns, by resource.
	//
	// +optional
	Outputs ClusterOutputs `json:"outputs"`

	// detached counts the SnapshotSchedules whose namespace is no longer selected. They are
	// suspended, and included in outputs. It is absent while the spec is invalid.
	//
	// +optional
	Detached *ClusterDetached `json:"detached,omitempty"`

	// persistentVolumeClaims counts the PVCs that the SnapshotSchedules select. It is absent
	// while the spec is invalid, and while the SnapshotSchedule of a namespace has not counted
	// any yet.
	//
	// +optional
	PersistentVolumeClaims *ClaimTotals `json:"persistentVolumeClaims,omitempty"`

	// volumeSnapshots counts the VolumeSnapshots that the SnapshotSchedules own. It is absent
	// whenever persistentVolumeClaims is.
	//
	// +optional
	VolumeSnapshots *OutputCount `json:"volumeSnapshots,omitempty"`

	// volumeGroupSnapshots counts the VolumeGroupSnapshots that the SnapshotSchedules own. It is
	// also absent if none takes or has any.
	//
	// +optional
	VolumeGroupSnapshots *OutputCount `json:"volumeGroupSnapshots,omitempty"`

	// recoveryPointTime is the oldest recovery point of all selected namespaces. It is absent
	// while a PVC that is not skipped has no ready snapshot, and while the SnapshotSchedule of a
	// namespace has not counted any yet. Example: 2026-01-02T03:00:00Z.
	//
	// +optional
	RecoveryPointTime *metav1.Time `json:"recoveryPointTime,omitempty"`

	// oldestRecoveryPointTime is the oldest recovery point of all selected namespaces, in which a
	// PVC without a ready snapshot counts with its creation time, or with that of its
	// SnapshotSchedule if that is later. Example: 2026-01-02T03:00:00Z.
	//
	// +optional
	OldestRecoveryPointTime *metav1.Time `json:"oldestRecoveryPointTime,omitempty"`

	// oldestRecoveryPointNamespace is the namespace with the oldest recovery point. Example:
	// shop.
	//
	// +kubebuilder:validation:MaxLength=63
	// +optional
	OldestRecoveryPointNamespace string `json:"oldestRecoveryPointNamespace,omitempty"`

	// problems lists what is wrong, the most severe first. At most 10 problems are listed;
	// moreProblems counts the others. Example: [{namespace: shop, reason: SnapshotsFailing,
	// message: 1 of 20 PersistentVolumeClaims failing, sinceTime: "2026-01-02T03:04:05Z"}].
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Problems []NamespaceProblem `json:"problems,omitempty"`

	// moreProblems is the number of problems that are not listed in problems. Example: 2.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreProblems int32 `json:"moreProblems,omitempty"`

	// conditions describe the state of the ClusterSnapshotSchedule. Ready is whether every
	// selected namespace is protected as the spec asks. Protected is whether every PVC of the
	// selected namespaces can be restored to a recent slot. Stalled is whether the spec is
	// invalid, so that no SnapshotSchedule is created, changed or deleted.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClusterInputs counts the objects that are selected, by plural resource name.
type ClusterInputs struct {
	// namespaces counts the namespaces that are selected. Example: {total: 12}.
	//
	// +required
	Namespaces NamespaceCount `json:"namespaces"`
}

// NamespaceCount counts namespaces.
type NamespaceCount struct {
	// total is the number of namespaces that match the selector, are not excluded by an
	// annotation, and are not being deleted. Example: 12.
	//
	// +required
	Total int32 `json:"total"`
}

// ClusterOutputs counts the objects that a ClusterSnapshotSchedule owns, by plural resource
// name.
type ClusterOutputs struct {
	// snapshotschedules counts the SnapshotSchedules, over all namespaces.
	//
	// +optional
	SnapshotSchedules ScheduleCount `json:"snapshotschedules"`
}

// ScheduleCount counts SnapshotSchedules.
type ScheduleCount struct {
	// total is the number of SnapshotSchedules, those of namespaces that are no longer selected
	// included. Example: 12.
	//
	// +required
	Total int32 `json:"total"`

	// updated is the number of SnapshotSchedules that have the template's spec, and whose status
	// describes it. Those of namespaces that are no longer selected are also suspended. Example:
	// 12.
	//
	// +required
	Updated int32 `json:"updated"`

	// ready is the number of SnapshotSchedules whose condition Ready is True. Example: 11.
	//
	// +required
	Ready int32 `json:"ready"`
}

// ClusterDetached counts the outputs whose namespace is no longer selected.
type ClusterDetached struct {
	// snapshotschedules is the number of SnapshotSchedules whose namespace is no longer selected
	// and which still have snapshots. Example: 1.
	//
	// +required
	SnapshotSchedules int32 `json:"snapshotschedules"`
}

// ClaimTotals counts PVCs.
type ClaimTotals struct {
	// total is the number of PVCs that the SnapshotSchedules select. Example: 210.
	//
	// +required
	Total int32 `json:"total"`

	// skipped is the number of them that cannot be snapshotted now. Example: 3.
	//
	// +required
	Skipped int32 `json:"skipped"`
}

// NamespaceProblem is a problem of one namespace.
type NamespaceProblem struct {
	// namespace is the name of the namespace. Example: shop.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Namespace string `json:"namespace"`

	// reason is a CamelCase word for the kind of problem: a reason of the condition Ready of the
	// namespace's SnapshotSchedule, or of a change to it that failed. Example: SnapshotsFailing.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Reason string `json:"reason"`

	// message describes the problem. A long one is shortened. Example: 1 of 20
	// PersistentVolumeClaims failing.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// sinceTime is the time at which the problem was first observed. Example:
	// 2026-01-02T03:04:05Z.
	//
	// +required
	SinceTime metav1.Time `json:"sinceTime"`
}
