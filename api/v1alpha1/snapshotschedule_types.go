// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeletionPolicy is what becomes of the snapshots of a schedule that is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete: they are deleted with the schedule, by garbage collection.
	DeletionDelete DeletionPolicy = "Delete"

	// DeletionOrphan: they are released, and stay.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// SnapshotScheduleSpec says which PVCs are snapshotted, when, and how long the snapshots stay.
//
// +kubebuilder:validation:XValidation:rule="!has(self.snapshotInterval) || !has(self.schedule)",message="snapshotInterval and schedule are both set: set one only, such as snapshotInterval: 6h"
// +kubebuilder:validation:XValidation:rule="has(self.snapshotInterval) || has(self.schedule)",message="snapshotInterval or schedule is required: set one, such as snapshotInterval: 6h"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.schedule)",message=`timeZone goes with schedule only: set schedule, such as "30 2 * * *", or leave timeZone out`,fieldPath=".timeZone"
type SnapshotScheduleSpec struct {
	// selector picks PVCs of the schedule's namespace by their labels. Empty or left out, it
	// picks every PVC.
	//
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="operator must be one of In, NotIn, Exists, DoesNotExist"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, !(e.operator in ['In', 'NotIn']) || (has(e.values) && size(e.values) > 0))",message="values must not be empty for operator In or NotIn, such as values: [my-app]"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, !(e.operator in ['Exists', 'DoesNotExist']) || !has(e.values) || size(e.values) == 0)",message="values must be left out for operator Exists or DoesNotExist, such as {key: app, operator: Exists}"
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitzero"`

	// snapshotInterval is the time from one snapshot of a PVC to the next. A new PVC's first
	// one is due at once. Exactly one of snapshotInterval and schedule is set.
	//
	// +optional
	SnapshotInterval Duration `json:"snapshotInterval,omitempty"`

	// schedule is a cron line of five fields, such as "30 2 * * *", or one of @hourly,
	// @daily, @weekly, @monthly and @yearly. Exactly one of snapshotInterval and schedule is
	// set.
	//
	// +optional
	Schedule CronLine `json:"schedule,omitempty"`

	// timeZone is the IANA name of the zone that schedule is read in, such as Europe/Oslo.
	// Left out: UTC.
	//
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule=`self.matches(r'^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'`,message="must be the IANA name of a time zone, such as Europe/Oslo or UTC"
	// +optional
	TimeZone string `json:"timeZone,omitempty"`

	// snapshotTTL is how old a snapshot may grow. Left out, age alone never expires one.
	//
	// +optional
	SnapshotTTL Duration `json:"snapshotTTL,omitempty"`

	// suspend stops the taking of snapshots, except of those asked for by the requested-at
	// annotation. Retention goes on.
	//
	// +kubebuilder:default=false
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// startingDeadline is how late a missed snapshot may still be taken. Left out, it is taken
	// whenever possible. Of several missed ones only the newest is.
	//
	// +optional
	StartingDeadline Duration `json:"startingDeadline,omitempty"`

	// jitter spreads the snapshots of different PVCs: each PVC has an offset of its own, always
	// the same, from zero up to (and not including) jitter. Left out: none.
	//
	// +optional
	Jitter Duration `json:"jitter,omitempty"`

	// readyDeadline is how long a snapshot may stay uncut before it counts as failed.
	//
	// +kubebuilder:default="1h"
	// +optional
	ReadyDeadline Duration `json:"readyDeadline,omitempty"`

	// deletionPolicy says what becomes of the snapshots when the schedule is deleted: Delete
	// leaves them to garbage collection, Orphan releases them before the schedule goes. It
	// can't overrule a foreground deletion; kubectl delete --cascade=orphan can.
	//
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// snapshotTemplate is what the snapshots are created with.
	//
	// +optional
	SnapshotTemplate SnapshotTemplate `json:"snapshotTemplate,omitzero"`

	// retention says which snapshots stay.
	//
	// +kubebuilder:default={}
	// +optional
	Retention Retention `json:"retention,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=snapsched
// +kubebuilder:printcolumn:name="SCHEDULE",type=string,JSONPath=`.spec['snapshotInterval','schedule']`,description="The interval or the cron line"
// +kubebuilder:printcolumn:name="TTL",type=string,JSONPath=`.spec.snapshotTTL`,description="How old a snapshot may grow"
// +kubebuilder:printcolumn:name="PVCS",type=integer,JSONPath=`.status.inputs.persistentvolumeclaims.total`,description="Matching PVCs"
// +kubebuilder:printcolumn:name="SNAPSHOTS",type=integer,JSONPath=`.status.outputs.volumesnapshots.total`,description="Snapshots that the schedule owns"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether snapshots are taken as the spec asks"
// +kubebuilder:printcolumn:name="LAST",type=date,JSONPath=`.status.lastSnapshotTime`,description="How long ago the newest snapshot was due"
// +kubebuilder:printcolumn:name="NEXT",type=string,JSONPath=`.status.nextSnapshotTime`,description="When the next snapshot is due"
// +kubebuilder:printcolumn:name="SUSPEND",type=boolean,JSONPath=`.spec.suspend`,description="Whether snapshots are suspended"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters long, such as my-app-snapshots: it is a label value on every snapshot"

// SnapshotSchedule takes VolumeSnapshots of every matching PVC of its namespace, again and
// again, and deletes those that are no longer to be kept.
type SnapshotSchedule struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is a standard object metadata
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says which PVCs are snapshotted, when, and how long the snapshots stay.
	// +required
	Spec SnapshotScheduleSpec `json:"spec"`

	// status is what the controller last saw.
	// +optional
	Status SnapshotScheduleStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// SnapshotScheduleList is a list of SnapshotSchedules.
type SnapshotScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []SnapshotSchedule `json:"items"`
}

func init() {
	SchemeBuilder.Register(&SnapshotSchedule{}, &SnapshotScheduleList{})
}
