// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Retention says which snapshots of each PVC are kept.
type Retention struct {
	// minReady is the number of ready snapshots of each PVC that always stay: while the PVC
	// exists, its newest minReady ready snapshots, whatever snapshotTTL, keep and maxCount say. A
	// snapshot is ready when a PVC can be restored from it (status.readyToUse is true). Default:
	// 1. Example: 2.
	//
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MinReady *int32 `json:"minReady,omitempty"`

	// maxCount is the maximum number of ready snapshots of each PVC. If there are more, the
	// oldest are deleted: first those kept only by snapshotTTL, then those selected by keep. The
	// newest snapshot and the newest minReady ready snapshots stay. Snapshots with the annotation
	// snapshots.mapcontroller.dev/hold, and those that only minVerified keeps, stay and are not
	// counted. If omitted, there is no limit. Example: 100.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MaxCount *int32 `json:"maxCount,omitempty"`

	// minVerified is the number of verified snapshots of each PVC that always stay, in addition
	// to what minReady keeps: while the PVC exists, its newest minVerified snapshots that are
	// ready and verified. A snapshot is verified if its last drill, a trial restore as by kubectl
	// snapsched verify, succeeded: see the annotations snapshots.mapcontroller.dev/verified-at
	// and snapshots.mapcontroller.dev/verify-failed. Retention never deletes a snapshot because
	// of a drill. Default: 0. Example: 1.
	//
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinVerified int32 `json:"minVerified,omitempty"`

	// keep selects snapshots to keep beyond snapshotTTL: the newest ones (last), and one per
	// hour, day, week, month or year. A snapshot stays while it is younger than snapshotTTL or
	// one of these rules selects it. If snapshotTTL is omitted, keep alone decides. If both are
	// omitted, every snapshot stays. Example: {daily: 7, weekly: 4, monthly: 12}.
	//
	// +optional
	Keep Keep `json:"keep,omitzero"`

	// editDelay is how long retention deletes nothing after a change of the spec, so that a
	// mistake, such as snapshotTTL: 1s, can be taken back. It counts from when the operator sees
	// the change (status.retention); every further change restarts it. After a change to
	// editDelay itself, the longer of both values applies. While snapshots wait, the condition
	// RetentionPaused is True. The annotation snapshots.mapcontroller.dev/confirm-generation, set
	// to metadata.generation, ends the delay. Snapshots that are not cut, which contain no data,
	// are replaced as usual. Default: no delay; a minute for the SnapshotSchedules of a
	// ClusterSnapshotSchedule, which alone can confirm their changes. Example: 1h.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	EditDelay Duration `json:"editDelay,omitempty"`

	// detached is the retention of detached snapshots: those whose PVC is deleted or no longer
	// selected. If omitted, they follow the same rules as other snapshots, except that
	// retention.minReady does not protect the snapshots of a deleted PVC. Example: {snapshotTTL:
	// 30d, minReady: 1}.
	//
	// +kubebuilder:default={}
	// +optional
	Detached DetachedRetention `json:"detached,omitzero"`
}

// Keep is a set of tiers. Each tier keeps the newest ready snapshot of each of the N most
// recent periods that contain one. An omitted tier keeps none.
type Keep struct {
	// last keeps this number of snapshots: the newest ones that are ready. Default: none.
	// Example: 3.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Last int32 `json:"last,omitempty"`

	// hourly keeps the newest ready snapshot of each hour in spec.timeZone, for this number of
	// hours that have one. Default: none. Example: 24.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Hourly int32 `json:"hourly,omitempty"`

	// daily keeps the newest ready snapshot of each day in spec.timeZone, for this number of days
	// that have one. Default: none. Example: 7.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Daily int32 `json:"daily,omitempty"`

	// weekly keeps the newest ready snapshot of each ISO 8601 week in spec.timeZone, for this
	// number of weeks that have one. Default: none. Example: 4.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Weekly int32 `json:"weekly,omitempty"`

	// monthly keeps the newest ready snapshot of each month in spec.timeZone, for this number of
	// months that have one. Default: none. Example: 12.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Monthly int32 `json:"monthly,omitempty"`

	// yearly keeps the newest ready snapshot of each year in spec.timeZone, for this number of
	// years that have one. Default: none. Example: 3.
	//
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	Yearly int32 `json:"yearly,omitempty"`
}

// Counts returns the number of snapshots that each tier keeps, in the order of the fields.
func (k Keep) Counts() [6]int {
	return [...]int{int(k.Last), int(k.Hourly), int(k.Daily), int(k.Weekly), int(k.Monthly), int(k.Yearly)}
}

// DetachedRetention is the retention of snapshots whose PVC is deleted or no longer selected.
type DetachedRetention struct {
	// snapshotTTL is the age at which a detached snapshot expires. If it is set, retention.keep
	// does not apply to detached snapshots. Default: the value of spec.snapshotTTL, together with
	// retention.keep. Example: 30d.
	//
	// A duration is one or more whole numbers with the units y, w, d, h, m and s, largest unit
	// first, such as 90s, 6h, 10d or 1d12h. 1d is 24h, 1w is 7d and 1y is 365d. The minimum is
	// 1s, the maximum 100y.
	//
	// +optional
	SnapshotTTL Duration `json:"snapshotTTL,omitempty"`

	// minReady is the number of ready snapshots of each PVC that stay after the PVC is deleted:
	// the newest ones. While the PVC exists, even if it is no longer selected, retention.minReady
	// applies instead. Default: 0. Example: 1.
	//
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	// +optional
	MinReady int32 `json:"minReady,omitempty"`
}
