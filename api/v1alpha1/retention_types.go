// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
