// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the SnapshotSchedule API: types, validation rules, defaults, and the
// label keys, annotation keys, condition types and reasons that users rely on.
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
	// SchemeGroupVersion is the group and version of these types. Generators such as
	// controller-gen expect this name.
	SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

	// GroupVersion is an alias for SchemeGroupVersion.
	GroupVersion = SchemeGroupVersion

	// SchemeBuilder collects the types to register.
	SchemeBuilder = &Builder{}

	// AddToScheme registers all types of this package in a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Builder collects types and registers them in a scheme. It replaces the builder that
// kubebuilder scaffolds, so that importers of this package do not depend on
// controller-runtime.
// +kubebuilder:object:generate=false
type Builder struct {
	objects []runtime.Object
}

// Register adds types to the builder.
func (b *Builder) Register(objects ...runtime.Object) *Builder {
	b.objects = append(b.objects, objects...)
	return b
}

// AddToScheme registers the collected types in a scheme.
func (b *Builder) AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, b.objects...)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
