// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// SnapshotTemplate is the template of the VolumeSnapshots that a schedule creates.
type SnapshotTemplate struct {
	// metadata has labels and annotations to add to new snapshots. If omitted, none are added.
	// Example: {labels: {example.com/tier: gold}}.
	//
	// +optional
	Metadata SnapshotTemplateMetadata `json:"metadata,omitzero"`

	// spec has fields to set in the spec of new snapshots. If omitted, none are set. Example:
	// {volumeSnapshotClassName: fast}.
	//
	// +optional
	Spec SnapshotTemplateSpec `json:"spec,omitzero"`
}

// SnapshotTemplateMetadata has labels and annotations for VolumeSnapshots.
type SnapshotTemplateMetadata struct {
	// labels are added to new snapshots. Keys under snapshots.mapcontroller.dev/ are rejected. So
	// are those by which GitOps tools and snapscheduler claim objects:
	// app.kubernetes.io/instance, and keys under argocd.argoproj.io/ and snapscheduler.backube/.
	// If omitted, none are added. At most 32 labels. Example: {example.com/tier: gold}.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/tier"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'app.kubernetes.io/instance' && !k.startsWith('argocd.argoproj.io/'))",message="app.kubernetes.io/instance and keys under argocd.argoproj.io/ are rejected, because a GitOps tool would claim the snapshots and delete them: use another, such as example.com/tier"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapscheduler.backube/'))",message="keys under snapscheduler.backube/ are rejected, because the operator snapscheduler would take the snapshots for its own and delete them: use another, such as example.com/tier"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid label key, such as app or example.com/tier"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to new snapshots. The keys that are rejected in labels are rejected
	// here too. If omitted, none are added. At most 32 annotations, with values of at most 1024
	// characters. Example: {example.com/note: nightly}.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'app.kubernetes.io/instance' && !k.startsWith('argocd.argoproj.io/'))",message="app.kubernetes.io/instance and keys under argocd.argoproj.io/ are rejected, because a GitOps tool would claim the snapshots and delete them: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapscheduler.backube/'))",message="keys under snapscheduler.backube/ are rejected, because the operator snapscheduler would take the snapshots for its own and delete them: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid annotation key, such as note or example.com/note"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 1024)",message="every value must be at most 1024 characters long, such as nightly"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// StorageClassName is the name of a StorageClass.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule=`size(self) <= 253 && self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$')`,message="must be the name of a StorageClass, such as fast"
type StorageClassName string

// SnapshotClassName is the name of a VolumeSnapshotClass.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:XValidation:rule=`size(self) <= 253 && self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$')`,message="must be the name of a VolumeSnapshotClass, such as fast"
type SnapshotClassName string

// SnapshotTemplateSpec has the fields of a VolumeSnapshot's spec that a schedule can set.
//
// +kubebuilder:validation:XValidation:rule="!has(self.volumeSnapshotClassName) || !has(self.volumeSnapshotClassNames)",message="volumeSnapshotClassName and volumeSnapshotClassNames are both set: set only one, such as volumeSnapshotClassNames: [fast, archive]"
type SnapshotTemplateSpec struct {
	// volumeSnapshotClassName is the name of the VolumeSnapshotClass, which must belong to the
	// CSI driver of the PVCs. For PVCs of several drivers, set volumeSnapshotClassNames instead.
	// If both are omitted, the default class of each PVC's driver is used. Example: fast.
	//
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule=`size(self) <= 253 && self.matches(r'^[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*$')`,message="must be the name of a VolumeSnapshotClass, such as fast, or be omitted for the driver's default class"
	// +optional
	VolumeSnapshotClassName *string `json:"volumeSnapshotClassName,omitempty"`

	// volumeSnapshotClassNames are VolumeSnapshotClasses for PVCs of several CSI drivers: each
	// PVC gets the first one that exists and belongs to its driver. If none does, or if omitted,
	// the driver's default class is used. Set at most one of volumeSnapshotClassName and
	// volumeSnapshotClassNames. At most 16 names. Example: [fast, archive].
	//
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="size(self) > 0",message="must not be empty: list at least one VolumeSnapshotClass, such as [fast], or omit it for each driver's default class"
	// +listType=atomic
	// +optional
	VolumeSnapshotClassNames []SnapshotClassName `json:"volumeSnapshotClassNames,omitempty"`
}
