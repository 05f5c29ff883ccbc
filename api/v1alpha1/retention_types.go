// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Retention says which snapshots of each PVC are kept.
type Retention struct {
	// minReady is the minimum number of ready snapshots to keep of each PVC. A snapshot is
	// ready when a PVC can be restored from it (status.readyToUse is true). While the PVC
	// exists, retention never deletes its newest minReady ready snapshots, whatever
	// snapshotTTL, keep and maxCount say. Default: 1. Example: 2.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MinReady *int32 `json:"minReady,omitempty"`

	// maxCount is the maximum number of ready snapshots to keep of each PVC. If there are
	// more, the oldest are deleted: first those kept only by snapshotTTL, then those selected
	// by keep. The newest snapshot and the newest minReady ready snapshots always stay.
	// Snapshots with the annotation snapshots.mapcontroller.dev/hold, and those that only
	// minVerified keeps, stay too and are not counted. If omitted, there is no limit. Example: 100.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MaxCount *int32 `json:"maxCount,omitempty"`

	// minVerified is the minimum number of verified snapshots to keep of each PVC. A snapshot is
	// verified if its last drill succeeded: a restore to try it, as kubectl snapsched verify runs
	// it, which records the result in the annotations snapshots.mapcontroller.dev/verified-at and
	// snapshots.mapcontroller.dev/verify-failed of the VolumeSnapshot. While the PVC exists,
	// retention never deletes its newest minVerified snapshots that are ready and verified,
	// whatever snapshotTTL, keep and maxCount say, in addition to what minReady keeps. A snapshot
	// that nothing else keeps is not counted by maxCount and keep. Drills never make retention
	// delete a snapshot that it would keep without them. Default: 0. Example: 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinVerified int32 `json:"minVerified,omitempty"`

	// keep selects snapshots to keep beyond snapshotTTL: the newest ones (last), and one per
	// period (hourly, daily, weekly, monthly, yearly). A snapshot is kept as long as it is
	// younger than snapshotTTL or one of these rules selects it. If snapshotTTL is omitted,
	// keep alone decides. If both are omitted, every snapshot is kept. Example: {daily: 7,
	// weekly: 4, monthly: 12}.
	//
	// +optional
	Keep Keep `json:"keep,omitzero"`

	// editDelay is how long retention deletes nothing after the spec was changed, so that a
	// mistake, such as snapshotTTL: 1s, can be noticed and taken back. The delay starts when
	// the operator sees the change, which it records in status.retention; every further change
	// restarts it. After a change to editDelay itself, the longer of the old and the new
	// delay applies. While snapshots wait to be deleted, the condition RetentionPaused is True
	// and says how many. To delete them at once, set the annotation
	// snapshots.mapcontroller.dev/confirm-generation of the schedule to its
	// metadata.generation. Snapshots that contain no data yet (not cut) are replaced as usual.
	// Default: no delay; a minute for the SnapshotSchedules of a ClusterSnapshotSchedule, which
	// alone can confirm their changes. Example: 1h.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	EditDelay Duration `json:"editDelay,omitempty"`

	// detached configures retention for detached snapshots: those whose PVC is deleted or no
	// longer matches the selector. If omitted, they follow the same rules as other snapshots,
	// except that retention.minReady does not protect the snapshots of a deleted PVC. Example:
	// {snapshotTTL: 30d, minReady: 1}.
	//
	// +kubebuilder:default={}
	// +optional
	Detached DetachedRetention `json:"detached,omitzero"`
}

// Keep is a set of tiers. Each tier keeps the newest ready snapshot of each of the N most
// recent periods that contain one. An omitted tier keeps none.
type Keep struct {
	// last keeps this number of snapshots: the newest ones that are ready to use, however old
	// they are. Default: none. Example: 3.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Last int32 `json:"last,omitempty"`

	// hourly keeps one snapshot per hour for this number of hours: the newest one that is
	// ready to use, however old it is. Hours without such a snapshot are not counted. Hours
	// are in spec.timeZone, or UTC. Default: none. Example: 24.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Hourly int32 `json:"hourly,omitempty"`

	// daily keeps one snapshot per day for this number of days: the newest one that is ready
	// to use, however old it is. Days without such a snapshot are not counted. Days are in
	// spec.timeZone, or UTC. Default: none. Example: 7.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Daily int32 `json:"daily,omitempty"`

	// weekly keeps one snapshot per week for this number of weeks: the newest one that is
	// ready to use, however old it is. Weeks without such a snapshot are not counted. Weeks
	// are ISO 8601 weeks (Monday to Sunday) in spec.timeZone, or UTC. Default: none. Example:
	// 4.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Weekly int32 `json:"weekly,omitempty"`

	// monthly keeps one snapshot per month for this number of months: the newest one that is
	// ready to use, however old it is. Months without such a snapshot are not counted. Months
	// are in spec.timeZone, or UTC. Default: none. Example: 12.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Monthly int32 `json:"monthly,omitempty"`

	// yearly keeps one snapshot per year for this number of years: the newest one that is
	// ready to use, however old it is. Years without such a snapshot are not counted. Years
	// are in spec.timeZone, or UTC. Default: none. Example: 3.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Yearly int32 `json:"yearly,omitempty"`
}

// DetachedRetention is the retention of snapshots whose PVC is deleted or no longer selected.
type DetachedRetention struct {
	// snapshotTTL is the age at which a detached snapshot expires: one whose PVC is deleted or
	// no longer matches the selector. If it is set, retention.keep does not apply to detached
	// snapshots. Default: the value of spec.snapshotTTL, together with retention.keep.
	// Example: 30d.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	SnapshotTTL Duration `json:"snapshotTTL,omitempty"`

	// minReady is the minimum number of ready snapshots to keep of each PVC after it is
	// deleted: retention never deletes its newest minReady snapshots that are ready to use,
	// however old they are. While the PVC exists, even if it no longer matches the selector,
	// retention.minReady applies instead. Default: 0. Example: 1.
	//
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MinReady int32 `json:"minReady,omitempty"`
}
