// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterSnapshotScheduleSpec is the desired state of a ClusterSnapshotSchedule: which
// namespaces are protected, and by what SnapshotSchedule.
type ClusterSnapshotScheduleSpec struct {
	// namespaceSelector is a label selector for namespaces. Each matching namespace gets a
	// SnapshotSchedule, unless it has the annotation snapshots.mapcontroller.dev/exclude or is
	// being deleted. {} matches every namespace. When a namespace no longer matches, its
	// SnapshotSchedule is suspended, and deleted once retention has deleted the last of its
	// snapshots. Example: {matchLabels: {backup: gold}}.
	//
	// +required
	NamespaceSelector LabelSelector `json:"namespaceSelector"`

	// template is the SnapshotSchedule of each matching namespace. It has the name of the
	// ClusterSnapshotSchedule, and its whole spec is kept equal to the template's. Example:
	// {spec: {snapshotInterval: 6h, deletionPolicy: Orphan}}.
	//
	// +required
	Template ScheduleTemplate `json:"template"`
}

// ScheduleTemplate is the template of the SnapshotSchedules that a ClusterSnapshotSchedule
// creates.
//
// +kubebuilder:validation:XValidation:rule="has(self.spec.deletionPolicy)",message="deletionPolicy is required in a template, because deleting one ClusterSnapshotSchedule decides about the snapshots of all namespaces: set it to one of Delete and Orphan",fieldPath=".spec.deletionPolicy"
type ScheduleTemplate struct {
	// metadata has labels and annotations to add to the SnapshotSchedules. If omitted, none are
	// added. Example: {labels: {example.com/tier: gold}}.
	//
	// +optional
	Metadata ScheduleTemplateMetadata `json:"metadata,omitzero"`

	// spec is the spec of the SnapshotSchedules. Its deletionPolicy must be set. Changes in the
	// spec of a SnapshotSchedule are undone. Example: {snapshotInterval: 6h, snapshotTTL: 10d,
	// deletionPolicy: Orphan}.
	//
	// +required
	Spec SnapshotScheduleSpec `json:"spec"`
}

// ScheduleTemplateMetadata has labels and annotations for SnapshotSchedules.
type ScheduleTemplateMetadata struct {
	// labels are added to every SnapshotSchedule. Other labels stay. Keys under
	// snapshots.mapcontroller.dev/ are rejected. So are those by which GitOps tools claim
	// objects: app.kubernetes.io/instance, and keys under argocd.argoproj.io/. If omitted, none
	// are added. At most 32 labels. Example: {example.com/tier: gold}.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/tier"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'app.kubernetes.io/instance' && !k.startsWith('argocd.argoproj.io/'))",message="app.kubernetes.io/instance and keys under argocd.argoproj.io/ are rejected, because a GitOps tool would claim the SnapshotSchedules and delete them: use another, such as example.com/tier"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid label key, such as app or example.com/tier"
	// +optional
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// annotations are added to every SnapshotSchedule. Other annotations stay. The keys that are
	// rejected in labels are rejected here too. If omitted, none are added. At most 32
	// annotations, with values of at most 1024 characters. Example: {example.com/note: nightly}.
	//
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('snapshots.mapcontroller.dev/'))",message="keys under snapshots.mapcontroller.dev/ are reserved: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'app.kubernetes.io/instance' && !k.startsWith('argocd.argoproj.io/'))",message="app.kubernetes.io/instance and keys under argocd.argoproj.io/ are rejected, because a GitOps tool would claim the SnapshotSchedules and delete them: use another, such as example.com/note"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.indexOf('/') <= 253 && k.matches(r'^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="every key must be a valid annotation key, such as note or example.com/note"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 1024)",message="every value must be at most 1024 characters long, such as nightly"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=csnapsched
// +kubebuilder:metadata:annotations="helm.sh/resource-policy=keep";"argocd.argoproj.io/sync-options=Prune=false,Delete=false";"kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="SCHEDULE",type=string,JSONPath=`.spec.template.spec['snapshotInterval','schedule']`,description="Interval or cron expression"
// +kubebuilder:printcolumn:name="NAMESPACES",type=integer,JSONPath=`.status.inputs.namespaces.total`,description="Number of selected namespaces"
// +kubebuilder:printcolumn:name="UPDATED",type=integer,JSONPath=`.status.outputs.snapshotschedules.updated`,description="Number of SnapshotSchedules that have the template's spec, and that the operator has observed"
// +kubebuilder:printcolumn:name="SNAPSHOTS",type=integer,JSONPath=`.status.volumeSnapshots.total`,description="Number of snapshots in all namespaces"
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every namespace is protected as the spec asks"
// +kubebuilder:printcolumn:name="PROTECTED",type=string,JSONPath=`.status.conditions[?(@.type=="Protected")].status`,description="Whether every PVC of all namespaces can be restored to a recent slot"
// +kubebuilder:printcolumn:name="RECOVERY POINT",type=date,JSONPath=`.status.recoveryPointTime`,description="Time since the oldest recovery point of all namespaces: what a failure costs at most. Empty while a PVC has no ready snapshot"
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`,description="Time since the ClusterSnapshotSchedule was created"
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the condition Ready"
// +kubebuilder:printcolumn:name="PVCS",type=integer,priority=1,JSONPath=`.status.persistentVolumeClaims.total`,description="Number of PVCs that are selected in all namespaces"
// +kubebuilder:printcolumn:name="DETACHED",type=integer,priority=1,JSONPath=`.status.detached.snapshotschedules`,description="Number of SnapshotSchedules whose namespace is no longer selected"
// +kubebuilder:printcolumn:name="DELETION",type=string,priority=1,JSONPath=`.spec.template.spec.deletionPolicy`,description="What happens to the snapshots when the ClusterSnapshotSchedule is deleted"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="metadata.name must be at most 63 characters long, such as gold: it is a label value on every SnapshotSchedule"

// ClusterSnapshotSchedule keeps a SnapshotSchedule in every namespace that a label selector
// matches. It keeps their specs equal to its template, and reports their status together.
type ClusterSnapshotSchedule struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the desired state: which namespaces are protected, and by what SnapshotSchedule.
	// +required
	Spec ClusterSnapshotScheduleSpec `json:"spec"`

	// status is the observed state of the namespaces. The controller writes it.
	// +kubebuilder:default={}
	// +optional
	Status ClusterSnapshotScheduleStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// ClusterSnapshotScheduleList is a list of ClusterSnapshotSchedules.
type ClusterSnapshotScheduleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []ClusterSnapshotSchedule `json:"items"`
}

func init() {
	SchemeBuilder.Register(&ClusterSnapshotSchedule{}, &ClusterSnapshotScheduleList{})
}
