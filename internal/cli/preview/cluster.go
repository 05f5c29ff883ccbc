// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/manifests"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// clusterEdit is a ClusterSnapshotSchedule before and after a manifest is applied to it.
type clusterEdit struct {
	// before is nil if it does not exist.
	before, after *v1alpha1.ClusterSnapshotSchedule
	// template is the SnapshotSchedule that the manifest describes.
	template manifests.Document
}

// childVariants returns the SnapshotSchedules of the namespaces before and after the manifest
// of their ClusterSnapshotSchedule is applied: those that there are, and those that are made.
func childVariants(ctx context.Context, f *term.Factory, manifest *unstructured.Unstructured, now time.Time) ([]ahead.Variants, error) {
	edit, err := clusterEditBy(ctx, f, manifest)
	if err != nil {
		return nil, err
	}
	namespaces, err := view.ReadNamespaces(ctx, f)
	if err != nil {
		return nil, err
	}
	var all []ahead.Variants
	for i := range namespaces {
		if namespaces[i].DeletionTimestamp != nil {
			continue
		}
		v, err := childVariantsIn(ctx, f, edit, &namespaces[i], now)
		if err != nil {
			return nil, err
		}
		if v.Future != nil {
			all = append(all, v)
		}
	}
	return all, nil
}

// owns returns whether a SnapshotSchedule is a child, or is adopted as one.
func (e *clusterEdit) owns(s *v1alpha1.SnapshotSchedule, namespace string) bool {
	return e.before != nil && snapshots.OwnedBy(e.before, s) ||
		metav1.GetControllerOf(s) == nil && s.Labels[v1alpha1.LabelClusterSchedule] == e.after.Name && s.Labels[v1alpha1.LabelMapKey] == namespace
}

// unchanged returns whether the manifest is applied already.
func (e *clusterEdit) unchanged() bool {
	return e.before != nil && e.before.Generation == e.after.Generation && maps.Equal(e.before.Annotations, e.after.Annotations)
}

// clusterEditBy reads a manifest, and the ClusterSnapshotSchedule as it is.
func clusterEditBy(ctx context.Context, f *term.Factory, manifest *unstructured.Unstructured) (*clusterEdit, error) {
	edit := &clusterEdit{after: &v1alpha1.ClusterSnapshotSchedule{}}
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, edit.after, true)
	if err != nil {
		return nil, err
	}
	if edit.template, err = manifests.TemplateOf(manifest); err != nil {
		return nil, err
	}
	stored, err := readStored(ctx, f, term.ClusterScheduleKind, client.ObjectKey{Name: manifest.GetName()})
	if stored == nil || err != nil {
		edit.after.UID, edit.after.Generation = "new", 1
		return edit, err
	}
	edit.before = &v1alpha1.ClusterSnapshotSchedule{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, edit.before); err != nil {
		return nil, err
	}
	before, err := manifests.TemplateOf(stored)
	if err != nil {
		return nil, err
	}
	written := edit.after
	edit.after = edit.before.DeepCopy()
	edit.after.Spec, edit.after.Annotations = written.Spec, merged(edit.before.Annotations, written.Annotations)
	if !equality.Semantic.DeepEqual(before.Spec, edit.template.Spec) ||
		!equality.Semantic.DeepEqual(edit.before.Spec.NamespaceSelector, written.Spec.NamespaceSelector) ||
		!equality.Semantic.DeepEqual(edit.before.Spec.Template.Metadata, written.Spec.Template.Metadata) {
		edit.after.Generation++
	}
	return edit, nil
}

// childVariantsIn returns the SnapshotSchedule of one namespace; no future if it has none and gets none.
func childVariantsIn(
	ctx context.Context, f *term.Factory, edit *clusterEdit, namespace *metav1.PartialObjectMetadata, now time.Time,
) (v ahead.Variants, err error) {
	selected := snapshots.SelectsNamespace(edit.after, namespace)
	manifest := manifests.Document{Schedule: edit.template.Schedule.DeepCopy(), Spec: maps.Clone(edit.template.Spec)}
	child := manifest.Schedule
	child.Namespace, child.Name = namespace.Name, edit.after.Name
	child.Spec.Suspend = child.Spec.Suspend || !selected
	manifest.Spec["suspend"] = child.Spec.Suspend
	v.After = []client.Object{edit.after, namespace}
	present, err := storedOf(ctx, f, child)
	if err == nil && present.Schedule == nil && selected {
		v.Future = createdFrom(manifest, now)
	}
	if err != nil || present.Schedule == nil || !edit.owns(present.Schedule, namespace.Name) {
		return v, err // somebody else's stays as it is
	}
	v.Before = []client.Object{namespace}
	if edit.before != nil {
		v.Before = append(v.Before, edit.before)
	}
	edited := editedBy(manifest, present)
	v.Present, v.Future, v.Fields = edited.Present, edited.Future, edited.Fields
	if v.Future == v.Present && !edit.unchanged() { // what the child is, or what confirms it, may change
		v.Future = v.Present.DeepCopy()
	}
	return v, nil
}
