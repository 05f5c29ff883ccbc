// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package manifests reads schedules from files.
package manifests

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// Document is a schedule as it is written in a manifest or stored by the API server.
type Document struct {
	Schedule *v1alpha1.SnapshotSchedule
	// Spec also says which empty objects are there.
	Spec map[string]any
}

// Read reads the schedules and ClusterSnapshotSchedules of files.
func Read(
	ctx context.Context, f *term.Factory, files *resource.FilenameOptions,
) (all []Document, clusterSchedules []*unstructured.Unstructured, err error) {
	others := *files
	others.Filenames = slices.DeleteFunc(slices.Clone(files.Filenames), func(name string) bool { return name == "-" })
	b := resource.NewBuilder(f.Config).Unstructured().Local().ContinueOnError().NamespaceParam(f.Namespace).DefaultNamespace()
	if len(others.Filenames) > 0 {
		b = b.FilenameParam(false, &others)
	}
	if len(others.Filenames) < len(files.Filenames) { // the builder's own read of it knows no context
		b = b.Stream(term.UntilDone(ctx, f.In), "STDIN")
	}
	infos, err := b.Flatten().Do().Infos()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	for _, info := range infos {
		o := info.Object.(*unstructured.Unstructured)
		switch o.GroupVersionKind().GroupKind() {
		case term.ClusterScheduleKind.GroupKind():
			clusterSchedules = append(clusterSchedules, o)
		case term.ScheduleKind.GroupKind():
			manifest, err := Of(o, true)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: SnapshotSchedule %s: %w", info.Source, o.GetName(), err)
			}
			if manifest.Schedule.Namespace == "" {
				manifest.Schedule.Namespace = f.Namespace
			}
			all = append(all, manifest)
		}
	}
	if len(all)+len(clusterSchedules) == 0 {
		return nil, nil, fmt.Errorf("no SnapshotSchedule and no ClusterSnapshotSchedule in %v", files.Filenames)
	}
	return all, clusterSchedules, nil
}

// Of reads an object. If strict is set, an unknown field is an error.
func Of(o *unstructured.Unstructured, strict bool) (Document, error) {
	d := Document{Schedule: &v1alpha1.SnapshotSchedule{}}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, d.Schedule, strict); err != nil {
		return d, err
	}
	if d.Spec, _ = o.Object["spec"].(map[string]any); d.Spec == nil {
		d.Spec = map[string]any{}
	}
	setDefaults(d.Spec, map[string]any{ // as the API server does
		"suspend":       false,
		"readyDeadline": "1h",
		"retention":     map[string]any{"minReady": int64(1), "detached": map[string]any{"minReady": int64(0)}},
	})
	return d, nil
}

// setDefaults sets the values that an object does not have.
func setDefaults(o, defaults map[string]any) {
	for field, value := range defaults {
		inner, isObject := o[field].(map[string]any)
		switch {
		case o[field] == nil:
			o[field] = value
		case isObject:
			setDefaults(inner, value.(map[string]any))
		}
	}
}

// TemplateOf returns the SnapshotSchedule that a ClusterSnapshotSchedule describes.
func TemplateOf(o *unstructured.Unstructured) (Document, error) {
	template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
	if err != nil {
		return Document{}, err
	}
	child := &unstructured.Unstructured{Object: map[string]any{"spec": template["spec"]}}
	if metadata, ok := template["metadata"].(map[string]any); ok {
		child.Object["metadata"] = map[string]any{"annotations": metadata["annotations"]}
	}
	return Of(child, false)
}
