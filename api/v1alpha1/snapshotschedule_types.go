// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeletionPolicy says what happens to the snapshots of a schedule that is deleted.
//
// +kubebuilder:validation:Enum=Delete;Orphan
type DeletionPolicy string

const (
	// DeletionDelete deletes the snapshots with the schedule, by garbage collection.
	DeletionDelete DeletionPolicy = "Delete"

	// DeletionOrphan leaves the snapshots without an owner, so that they outlive the schedule.
	DeletionOrphan DeletionPolicy = "Orphan"
)

// SnapshotScheduleSpec is the desired state of a SnapshotSchedule: which PVCs are snapshotted,
// when, and how long the snapshots are kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.snapshotInterval) || !has(self.schedule)",message="snapshotInterval and schedule are both set: set only one, such as snapshotInterval: 6h"
// +kubebuilder:validation:XValidation:rule="has(self.snapshotInterval) || has(self.schedule)",message="snapshotInterval or schedule is required: set one, such as snapshotInterval: 6h"
// +kubebuilder:validation:XValidation:rule="!has(self.group) || !has(self.selector) || !has(self.selector.matchExpressions) || size(self.selector.matchExpressions) == 0",message="selector.matchExpressions cannot be set together with group, because the snapshot controller ignores them and would snapshot every PVC: use selector.matchLabels, such as {app: my-app}",fieldPath=".selector.matchExpressions"
// +kubebuilder:validation:XValidation:rule="!has(self.group) || has(self.group.byLabel) || has(self.selector) && has(self.selector.matchLabels) && size(self.selector.matchLabels) > 0",message="group needs labels that select its PVCs: set selector.matchLabels, such as {app: my-app}, or group.byLabel, such as app.kubernetes.io/instance",fieldPath=".group"
// +kubebuilder:validation:XValidation:rule="!has(self.group) || !has(self.storageClassNames)",message="storageClassNames cannot be set together with group, because the snapshot controller goes by labels only: remove it, and use selector.matchLabels, such as {app: my-app}",fieldPath=".storageClassNames"
// +kubebuilder:validation:XValidation:rule="!has(self.group) || !has(self.snapshotTemplate) || !has(self.snapshotTemplate.spec) || !has(self.snapshotTemplate.spec.volumeSnapshotClassName) && !has(self.snapshotTemplate.spec.volumeSnapshotClassNames)",message="the classes of snapshotTemplate.spec cannot be set together with group: set group.volumeGroupSnapshotClassName, such as fast, instead",fieldPath=".snapshotTemplate.spec"
// +kubebuilder:validation:XValidation:rule="!has(self.timeZone) || has(self.schedule)",message=`timeZone requires schedule: set schedule, such as "30 2 * * *", or remove timeZone`,fieldPath=".timeZone"
type SnapshotScheduleSpec struct {
	// selector is a label selector for the PersistentVolumeClaims (PVCs) to snapshot, in the
	// namespace of the schedule. PVCs with the annotation snapshots.mapcontroller.dev/exclude are
	// left out. If empty or omitted, it selects every PVC. Example: {matchLabels: {app: my-app}}.
	//
	// +optional
	Selector LabelSelector `json:"selector,omitzero"`

	// storageClassNames restricts the schedule to PVCs of these storage classes. If omitted, PVCs
	// of any class are selected. At most 16 names. Example: [fast, standard].
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="must not be empty: list at least one storage class, such as [fast], or omit it for any"
	// +listType=atomic
	// +optional
	StorageClassNames []StorageClassName `json:"storageClassNames,omitempty"`

	// snapshotInterval is the time between two snapshots of a PVC. It counts from the creation of
	// the PVC or of the schedule, whichever is later, so the first snapshot is due at once. Set
	// exactly one of snapshotInterval and schedule. Example: 6h.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	SnapshotInterval Duration `json:"snapshotInterval,omitempty"`

	// schedule is a cron expression that says when snapshots are due, in timeZone: minute, hour,
	// day of month, month and day of week, or one of @hourly, @daily, @weekly, @monthly and
	// @yearly. A field is *, a number, a range such as 1-5, a list such as 1,15, or has a step
	// such as */6. Months and days may be names such as JAN and MON; 0 is Sunday. If both day
	// fields are restricted, a day that matches either of them counts. Set exactly one of
	// snapshotInterval and schedule. The example means every day at 02:30. Example: "30 2 * * *".
	//
	// +optional
	Schedule CronLine `json:"schedule,omitempty"`

	// timeZone is the IANA name of the time zone of schedule, and of the hours, days, weeks,
	// months and years of retention.keep. It can be set only together with schedule. Default:
	// UTC. Example: Europe/Oslo.
	//
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule=`size(self) <= 64 && self.matches(r'^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$') && self.lowerAscii() != 'local'`,message="must be the IANA name of a time zone, such as Europe/Oslo or UTC"
	// +optional
	TimeZone string `json:"timeZone,omitempty"`

	// snapshotTTL is the age at which a snapshot expires. An expired snapshot is deleted unless a
	// rule of retention keeps it, a PVC is being restored from it, or it has the annotation
	// snapshots.mapcontroller.dev/hold. If omitted, no snapshot expires because of its age. It
	// may be shorter than snapshotInterval. Example: 10d.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	SnapshotTTL Duration `json:"snapshotTTL,omitempty"`

	// suspend stops new snapshots while it is true, except those requested with the annotation
	// snapshots.mapcontroller.dev/requested-at. Expired snapshots are still deleted. Default:
	// false. Example: true.
	//
	// +kubebuilder:default=false
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// startingDeadline is how late a missed snapshot may still be taken, for example after an
	// outage. Of several missed snapshots only the newest is taken. If omitted, there is no
	// limit. Example: 2h.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	StartingDeadline Duration `json:"startingDeadline,omitempty"`

	// jitter spreads the snapshots of different PVCs over time. Each PVC's snapshots are delayed
	// by a fixed offset, derived from its UID, that is less than jitter. It must be shorter than
	// snapshotInterval. Default: no offset. Example: 15m.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	Jitter Duration `json:"jitter,omitempty"`

	// readyDeadline is how long the CSI driver may take to cut a snapshot, that is, to capture
	// the data and set the snapshot's status.creationTime. After that the snapshot has failed,
	// and is replaced when the next one is due. A snapshot that is cut but has an error for
	// longer than this has failed too, but is not replaced, because it may contain data. Default:
	// 1h. Example: 30m.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +kubebuilder:default="1h"
	// +optional
	ReadyDeadline Duration `json:"readyDeadline,omitempty"`

	// deletionPolicy says what happens to the snapshots when the schedule is deleted. Delete:
	// garbage collection deletes them. Orphan: they stay, because they have no owner reference to
	// the schedule, and a schedule created again under its name continues with them. After a
	// change to Orphan, do not delete the schedule until status.observedGeneration is
	// metadata.generation; nor a ClusterSnapshotSchedule until status.outputs.snapshotschedules
	// has as many updated as in total. Default: Delete. Example: Orphan.
	//
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// group snapshots the selected PVCs together, at one instant, by a VolumeGroupSnapshot, such
	// as data and log of a database. It needs a CSI driver that supports group snapshots, which
	// decides how exact the instant is. A group is snapshotted as a whole or not at all, and
	// deleted when retention would delete it for each of its PVCs. If omitted, each PVC is
	// snapshotted separately. Example: {byLabel: app.kubernetes.io/instance}.
	//
	// +optional
	Group *Group `json:"group,omitempty"`

	// snapshotTemplate has labels, annotations and the class of new snapshots. A change does not
	// affect existing ones. If omitted, they have the operator's labels and annotations, and the
	// default VolumeSnapshotClass of each PVC's driver. Example: {spec: {volumeSnapshotClassName:
	// fast}}.
	//
	// +optional
	SnapshotTemplate SnapshotTemplate `json:"snapshotTemplate,omitzero"`

	// retention says how many snapshots of each PVC are kept at least and at most, and which ones
	// are kept beyond snapshotTTL. If omitted, snapshotTTL alone decides, but the newest ready
	// snapshot of each existing PVC stays. Example: {minReady: 2, keep: {daily: 7, weekly: 4}}.
	//
	// +kubebuilder:default={}
	// +optional
	Retention Retention `json:"retention,omitzero"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=snapsched
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep";"argocd.argoproj.io/sync-options=Prune=false,Delete=false";"kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="SCHEDULE",type=string,JSONPath=`.spec['snapshotInterval','schedule']`,description="Interval or cron expression"
// +kubebuilder:printcolumn:name="TTL",type=string,JSONPath=`.spec.snapshotTTL`,description="Age at which a snapshot expires"
// +kubebuilder:printcolumn:name="PVCS",type=integer,JSONPath=`.status.inputs.persistentvolumeclaims.total`,description="Number of selected PVCs"
// +kubebuilder:printcolumn:name="SNAPSHOTS",type=integer,JSONPath=`.status.outputs['volumegroupsnapshots','volumesnapshots'].total`,description="Number of snapshots, or of group snapshots, that the schedule owns"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether snapshots are taken as the spec asks"
// +kubebuilder:printcolumn:name="PROTECTED",type=string,JSONPath=`.status.conditions[?(@.type=="Protected")].status`,description="Whether every PVC can be restored to a recent slot"
// +kubebuilder:printcolumn:name="RECOVERY POINT",type=date,JSONPath=`.status.recoveryPointTime`,description="Time since the oldest recovery point: what a failure costs at most. Empty while a PVC has no ready snapshot"
// +kubebuilder:printcolumn:name="NEXT",type=string,JSONPath=`.status.nextSnapshot`,description="Time at which the next snapshot is due; now while one is due"
// +kubebuilder:printcolumn:name="SUSPEND",type=boolean,JSONPath=`.spec.suspend`,description="Whether the schedule is suspended"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the schedule was created"
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="LAST",type=date,priority=1,JSONPath=`.status.lastSnapshotTime`,description="Time since the newest snapshot was due, ready or not"
// +kubebuilder:printcolumn:name="DETACHED",type=integer,priority=1,JSONPath=`.status.detached.volumesnapshots`,description="Number of snapshots whose PVC is deleted or no longer matches"
// +kubebuilder:printcolumn:name="DELETION",type=string,priority=1,JSONPath=`.spec.deletionPolicy`,description="What happens to the snapshots when the schedule is deleted; unset means Delete"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters long, such as my-app-snapshots: it is a label value on every snapshot"

// SnapshotSchedule takes VolumeSnapshots of the matching PersistentVolumeClaims (PVCs) in its
// namespace at an interval or on a cron schedule, and deletes them by age, by number and by
// period. It always keeps a minimum number of ready snapshots of each PVC.
type SnapshotSchedule struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state: which PVCs are snapshotted, when, and how long the snapshots
	// are kept.
	// +required
	Spec SnapshotScheduleSpec `json:"spec"`

	// status is the observed state of the schedule. The controller writes it.
	// +kubebuilder:default={}
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
