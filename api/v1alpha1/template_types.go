// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid label key, such as app or example.com/tier"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are put on every snapshot. Keys under snapshots.mapcontroller.dev/ are
	// refused.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ belong to the controller: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid annotation key, such as note or example.com/note"
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
