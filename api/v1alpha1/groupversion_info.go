// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the SnapshotSchedule API: its types, the rules that the API server
// checks, the defaults it fills in, and the names (labels, annotations, condition types and
// reasons) that users, manifests and other programs rely on.
// +kubebuilder:object:generate=true
// +groupName=snapshots.mapcontroller.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of every kind in this package.
const GroupName = "snapshots.mapcontroller.dev"

var (
	// SchemeGroupVersion is group version used to register these objects.
	// This name is used by applyconfiguration generators (e.g. controller-gen).
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// GroupVersion is an alias for SchemeGroupVersion, for backward compatibility.
	GroupVersion = SchemeGroupVersion

	// SchemeBuilder is used to add go types to the GroupVersionKind scheme.
	SchemeBuilder = &Builder{}

	// AddToScheme adds the types in this group-version to the given scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Builder gathers the kinds of this group-version. It has the methods that a types file
// scaffolded by kubebuilder calls, and needs apimachinery only, so that importing this
// package does not bring controller-runtime along.
// +kubebuilder:object:generate=false
type Builder struct {
	objects []runtime.Object
}

// Register adds one or more kinds, each with its list.
func (b *Builder) Register(objects ...runtime.Object) *Builder {
	b.objects = append(b.objects, objects...)
	return b
}

// AddToScheme adds every registered kind to the scheme.
func (b *Builder) AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, b.objects...)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
