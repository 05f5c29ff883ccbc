/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// +kubebuilder:validation:MaxLength=64
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

// SnapshotTemplate is what VolumeSnapshots are created with.
type SnapshotTemplate struct {
	// metadata holds labels and annotations for the snapshots.
	//
	// +optional
	Metadata SnapshotTemplateMetadata `json:"metadata,omitzero"`

	// spec holds what goes into the snapshots' spec.
	//
	// +optional
	Spec SnapshotTemplateSpec `json:"spec,omitzero"`
}

// SnapshotTemplateMetadata holds labels and annotations for VolumeSnapshots.
type SnapshotTemplateMetadata struct {
	// labels are put on every snapshot. Keys under snapshots.mapcontroller.dev/ are refused.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ belong to the controller: use another, such as example.com/tier"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) <= 317 && k.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid label key, such as app or example.com/tier"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are put on every snapshot. Keys under snapshots.mapcontroller.dev/ are
	// refused.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ belong to the controller: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) <= 317 && k.matches(r'^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid annotation key, such as note or example.com/note"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:XValidation:rule=`size(self) <= 63 && self.matches(r'^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$')`,message="must be a valid label value, such as my-app: at most 63 letters, digits, '-', '_' and '.', a letter or digit first and last"
type LabelValue string

// SnapshotTemplateSpec is the part of a VolumeSnapshot's spec that a schedule can set.
type SnapshotTemplateSpec struct {
	// volumeSnapshotClassName is the VolumeSnapshotClass of the snapshots. Left out, it is the
	// default class of the PVC's driver.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`size(self) <= 253 && self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$')`,message="must be the name of a VolumeSnapshotClass, such as fast, or be left out for the driver's default class"
	// +optional
	VolumeSnapshotClassName *string `json:"volumeSnapshotClassName,omitempty"`
}

// Retention says which snapshots of each PVC stay.
type Retention struct {
	// minReady is the floor: while the PVC exists, its newest minReady ready snapshots stay,
	// however old.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinReady *int32 `json:"minReady,omitempty"`

	// maxCount is the most snapshots that a PVC may have. Beyond it the oldest go first.
	// Left out: no limit.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	MaxCount *int32 `json:"maxCount,omitempty"`

	// keep keeps some snapshots beyond snapshotTTL.
	//
	// +optional
	Keep Keep `json:"keep,omitzero"`

	// detached holds what differs for snapshots whose PVC is gone or no longer selected.
	//
	// +kubebuilder:default={}
	// +optional
	Detached DetachedRetention `json:"detached,omitzero"`
}

// Keep lists the tiers. Each keeps the newest ready snapshot of that many of the most recent
// periods that contain one. A tier that is left out keeps none.
type Keep struct {
	// last keeps that many of the newest ready snapshots.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Last int32 `json:"last,omitempty"`

	// hourly keeps the newest ready snapshot of that many hours.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Hourly int32 `json:"hourly,omitempty"`

	// daily keeps the newest ready snapshot of that many days.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Daily int32 `json:"daily,omitempty"`

	// weekly keeps the newest ready snapshot of that many ISO weeks.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Weekly int32 `json:"weekly,omitempty"`

	// monthly keeps the newest ready snapshot of that many months.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Monthly int32 `json:"monthly,omitempty"`

	// yearly keeps the newest ready snapshot of that many years.
	//
	// +kubebuilder:validation:Minimum=1
	// +optional
	Yearly int32 `json:"yearly,omitempty"`
}

// DetachedRetention is for snapshots whose PVC is gone or no longer selected.
type DetachedRetention struct {
	// snapshotTTL is how old such a snapshot may grow; where it is set, the tiers of keep don't
	// apply. Left out: spec.snapshotTTL.
	//
	// +optional
	SnapshotTTL Duration `json:"snapshotTTL,omitempty"`

	// minReady is the floor once the PVC is gone: its newest minReady ready snapshots stay,
	// however old.
	//
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinReady int32 `json:"minReady,omitempty"`
}

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
