// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Group says which of the selected PVCs are snapshotted together, and by which class.
type Group struct {
	// byLabel is the key of a label of the PVCs: those with the same value are one group. A PVC
	// without the label belongs to no group, which is a problem. If omitted, all selected PVCs
	// are one group. A group has at most 100 PVCs. Example: app.kubernetes.io/instance.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`size(self) <= 317 && self.indexOf('/') <= 253 && self.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$')`,message="must be the key of a label, such as app.kubernetes.io/instance, or be omitted for one group of all selected PVCs"
	// +optional
	ByLabel string `json:"byLabel,omitempty"`

	// volumeGroupSnapshotClassName is the name of the VolumeGroupSnapshotClass, which must belong
	// to the CSI driver of the PVCs. If omitted, the driver's default class is used. Example:
	// fast.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`size(self) <= 253 && self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$')`,message="must be the name of a VolumeGroupSnapshotClass, such as fast, or be omitted for the driver's default class"
	// +optional
	VolumeGroupSnapshotClassName *string `json:"volumeGroupSnapshotClassName,omitempty"`
}
