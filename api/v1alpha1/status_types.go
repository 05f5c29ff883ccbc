// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SnapshotScheduleStatus is the observed state of a SnapshotSchedule.
type SnapshotScheduleStatus struct {
	// observedGeneration is the metadata.generation of the spec that this status describes, and
	// -1 before the first one. While it differs from metadata.generation, the operator has not
	// carried out the latest change yet. Example: 3.
	//
	// +kubebuilder:default=-1
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// inputs counts the objects that the schedule selects, by resource. It is absent before every
	// PVC was reconciled for the first time, and while the spec is invalid.
	//
	// +optional
	Inputs *Inputs `json:"inputs,omitempty"`

	// outputs counts the objects that the schedule owns, by resource: those that it created or
	// adopted. It is known also while the spec is invalid, and absent before every PVC was
	// reconciled for the first time.
	//
	// +optional
	Outputs Outputs `json:"outputs"`

	// detached counts the snapshots whose PVC is deleted or no longer selected. They are included
	// in outputs. It is absent whenever inputs is.
	//
	// +optional
	Detached *Detached `json:"detached,omitempty"`

	// lastSnapshotTime is the time at which the newest snapshot was due, as its annotation
	// snapshots.mapcontroller.dev/scheduled-at records it. The snapshot need not be ready. Absent
	// while there is no snapshot or the spec is invalid. Example: 2026-01-02T03:00:00Z.
	//
	// +optional
	LastSnapshotTime *metav1.Time `json:"lastSnapshotTime,omitempty"`

	// nextSnapshotTime is the earliest time at which a snapshot of any selected PVC is due. It is
	// absent while the schedule is suspended, the spec is invalid, or no PVC is selected.
	// Example: 2026-01-02T09:00:00Z.
	//
	// +optional
	NextSnapshotTime *metav1.Time `json:"nextSnapshotTime,omitempty"`

	// nextSnapshot is "now" while a snapshot of a selected PVC is due, and nextSnapshotTime as
	// text otherwise. If a due snapshot is not taken, problems and the condition Ready say why.
	// It is absent while neither is known. Example: "2026-01-02T09:00:00Z".
	//
	// +kubebuilder:validation:MaxLength=32
	// +optional
	NextSnapshot string `json:"nextSnapshot,omitempty"`

	// recoveryPointTime is the oldest recovery point of the selected PVCs that are not skipped:
	// every one of them can be restored to this time or a later one. It is absent while one of
	// them has no ready snapshot. Example: 2026-01-02T03:00:00Z.
	//
	// +optional
	RecoveryPointTime *metav1.Time `json:"recoveryPointTime,omitempty"`

	// oldestRecoveryPointTime is the oldest recovery point of the selected PVCs that are not
	// skipped: the time of the PVC's newest ready snapshot or, without one, the creation time of
	// the PVC or of the schedule, whichever is later. Everything written since then is lost with
	// the volume. Absent while the spec is invalid or no PVC is selected. Example:
	// 2026-01-02T03:00:00Z.
	//
	// +optional
	OldestRecoveryPointTime *metav1.Time `json:"oldestRecoveryPointTime,omitempty"`

	// oldestVerifiedTime is the oldest of the last successful drills of the selected PVCs that
	// are not skipped. A drill is a trial restore of a snapshot, recorded in its annotations
	// snapshots.mapcontroller.dev/verified-at and snapshots.mapcontroller.dev/verify-failed. PVCs
	// without a success do not count. Absent while there is none or the spec is invalid. Example:
	// 2026-01-02T03:00:00Z.
	//
	// +optional
	OldestVerifiedTime *metav1.Time `json:"oldestVerifiedTime,omitempty"`

	// retention records the latest change of the spec, from which spec.retention.editDelay
	// counts, and the ClusterSnapshotSchedule that owns the schedule. It is absent if there is
	// neither. Deleting it restarts the delay. Example: {generation: 3, sinceTime:
	// "2026-01-02T03:04:05Z", editDelay: 1h}.
	//
	// +optional
	Retention *RetentionRecord `json:"retention,omitempty"`

	// problems lists what is wrong with the schedule, its PVCs and snapshots, the most severe
	// first. At most 10 problems are listed; moreProblems counts the others. Example:
	// [{persistentVolumeClaim: data-3, reason: CreateFailed, message: exceeded quota, sinceTime:
	// "2026-01-02T03:04:05Z"}].
	//
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Problems []Problem `json:"problems,omitempty"`

	// moreProblems is the number of problems that are not listed in problems. Absent if there are
	// none. Example: 5.
	//
	// +kubebuilder:validation:Minimum=0
	// +optional
	MoreProblems int32 `json:"moreProblems,omitempty"`

	// conditions describe the state of the schedule. Ready is whether snapshots are taken as the
	// spec asks. Protected is whether every selected PVC can be restored to a recent slot.
	// Stalled is whether the spec is invalid, so that no snapshot is taken or deleted.
	// RetentionPaused is whether expired snapshots are kept because deleting them would not be
	// safe.
	//
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RetentionRecord is when the operator first saw a generation of the spec, and for how long
// retention deletes nothing from then on. It also records the ClusterSnapshotSchedule that owns
// the schedule.
type RetentionRecord struct {
	// generation is the metadata.generation that the record is about. Until it equals the
	// schedule's, retention deletes nothing. Example: 3.
	//
	// +required
	Generation int64 `json:"generation"`

	// sinceTime is the time at which the operator first saw this generation, by the API server's
	// clock. Example: 2026-01-02T03:04:05Z.
	//
	// +required
	SinceTime metav1.Time `json:"sinceTime"`

	// editDelay is how long after sinceTime retention deletes nothing: the longer of
	// spec.retention.editDelay before and after the change. After that, or once the generation is
	// confirmed, it equals spec.retention.editDelay. Example: 1h.
	//
	// +required
	EditDelay Duration `json:"editDelay"`

	// clusterSchedule is the metadata.uid of the ClusterSnapshotSchedule that owns the schedule,
	// or owned it. Snapshots are taken by its template, whatever the spec, labels and owner
	// references of the schedule say. It is written before the first snapshot is taken, and
	// removed when that ClusterSnapshotSchedule is gone. Example:
	// 6f1c9c5e-3d3f-4a63-9f5a-0d2f7f6b1a77.
	//
	// +kubebuilder:validation:MaxLength=128
	// +optional
	ClusterSchedule string `json:"clusterSchedule,omitempty"`
}

// Inputs counts the objects that a schedule selects, by plural resource name.
type Inputs struct {
	// persistentvolumeclaims counts the PVCs that the schedule selects. Example: {total: 20}.
	//
	// +optional
	PersistentVolumeClaims InputCount `json:"persistentvolumeclaims"`
}

// InputCount counts the inputs of one kind.
type InputCount struct {
	// total is the number of selected objects. Example: 20.
	//
	// +required
	Total int32 `json:"total"`

	// skipped is the number of selected objects that cannot be snapshotted now, which is not a
	// failure: PVCs that are not bound or are being deleted, and PVCs without snapshots to whose
	// driver no VolumeSnapshotClass belongs. Example: 1.
	//
	// +optional
	Skipped int32 `json:"skipped"`
}

// Outputs counts the objects that a schedule owns, by plural resource name.
type Outputs struct {
	// volumesnapshots counts the VolumeSnapshots of the schedule. Example: {total: 100, ready:
	// 97, terminating: 2}.
	//
	// +optional
	VolumeSnapshots OutputCount `json:"volumesnapshots"`

	// volumegroupsnapshots counts the VolumeGroupSnapshots of the schedule. It is absent if
	// spec.group is not set and there are none. Example: {total: 10, ready: 10}.
	//
	// +optional
	VolumeGroupSnapshots *OutputCount `json:"volumegroupsnapshots,omitempty"`
}

// OutputCount counts the outputs of one kind.
type OutputCount struct {
	// total is the number of objects, ready or not, those that are being deleted included.
	// Example: 100.
	//
	// +required
	Total int32 `json:"total"`

	// ready is the number of objects from which a PVC can be restored: status.readyToUse is true,
	// and they are not being deleted. Example: 97.
	//
	// +required
	Ready int32 `json:"ready"`

	// terminating is the number of objects that are being deleted: the API server has accepted
	// the delete, and the storage has not finished it. Absent if there are none. Example: 2.
	//
	// +optional
	Terminating int32 `json:"terminating,omitempty"`
}

// Detached counts the outputs whose input is deleted or no longer selected.
type Detached struct {
	// mapKeys is the number of PVCs that are deleted or no longer selected and still have
	// snapshots. (The map key of a snapshot is the UID of its PVC.) Example: 1.
	//
	// +required
	MapKeys int32 `json:"mapKeys"`

	// volumesnapshots is the number of snapshots whose PVC is deleted or no longer selected.
	// Example: 5.
	//
	// +required
	VolumeSnapshots int32 `json:"volumesnapshots"`

	// volumegroupsnapshots is the number of group snapshots of groups that no longer have a PVC.
	// Absent if there are none. Example: 5.
	//
	// +optional
	VolumeGroupSnapshots int32 `json:"volumegroupsnapshots,omitempty"`
}

// Problem is a problem of one PVC, or of the whole schedule.
type Problem struct {
	// persistentVolumeClaim is the name of the PVC that has the problem, or whose snapshot has
	// it. It is absent for a problem of the schedule itself. Example: data-3.
	//
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PersistentVolumeClaim string `json:"persistentVolumeClaim,omitempty"`

	// group is the group of PVCs that has the problem: the value of the label spec.group.byLabel,
	// or the name of the schedule if all its PVCs are one group. Example: shop-db.
	//
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Group string `json:"group,omitempty"`

	// reason is a CamelCase word for the kind of problem. Example: CreateFailed.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +required
	Reason string `json:"reason"`

	// message describes the problem. A long one is shortened. Example: exceeded quota.
	//
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// sinceTime is the time since which the PVC has continuously had a problem with this reason,
	// as far as the operator has observed it. Example: 2026-01-02T03:04:05Z.
	//
	// +required
	SinceTime metav1.Time `json:"sinceTime"`
}
