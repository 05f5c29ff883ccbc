// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
)

// document is a schedule as it is written in a manifest or stored by the API server.
type document struct {
	schedule *v1alpha1.SnapshotSchedule
	// spec also says which empty objects are there.
	spec map[string]any
}

// manifestVariants returns the schedules before and after the manifests of files are applied.
func manifestVariants(ctx context.Context, f *term.Factory, files *resource.FilenameOptions, now time.Time) ([]ahead.Variants, error) {
	manifests, clusterSchedules, err := readManifests(ctx, f, files)
	if err != nil {
		return nil, err
	}
	var all []ahead.Variants
	for _, manifest := range clusterSchedules {
		children, err := childVariants(ctx, f, manifest, now)
		if err != nil {
			return nil, fmt.Errorf("ClusterSnapshotSchedule %s: %w", manifest.GetName(), err)
		}
		all = append(all, children...)
	}
	for _, manifest := range manifests {
		present, err := storedOf(ctx, f, manifest.schedule)
		if err != nil {
			return nil, err
		}
		if present.schedule == nil {
			all = append(all, ahead.Variants{Future: createdFrom(manifest, now)})
			continue
		}
		all = append(all, editedBy(manifest, present))
	}
	return all, nil
}

// storedOf returns a schedule as the API server has it; without a schedule if there is none.
func storedOf(ctx context.Context, f *term.Factory, named client.Object) (document, error) {
	o, err := readStored(ctx, f, term.ScheduleKind, client.ObjectKeyFromObject(named))
	if o == nil || err != nil {
		return document{}, err
	}
	return documentOf(o, false)
}

// readStored reads an object as it is stored; nil if there is none.
func readStored(
	ctx context.Context, f *term.Factory, kind schema.GroupVersionKind, key client.ObjectKey,
) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return view.LookUp(ctx, f.Client, key, o)
}

// readManifests reads the schedules and ClusterSnapshotSchedules of files.
func readManifests(
	ctx context.Context, f *term.Factory, files *resource.FilenameOptions,
) (all []document, clusterSchedules []*unstructured.Unstructured, err error) {
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
			manifest, err := documentOf(o, true)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: SnapshotSchedule %s: %w", info.Source, o.GetName(), err)
			}
			if manifest.schedule.Namespace == "" {
				manifest.schedule.Namespace = f.Namespace
			}
			all = append(all, manifest)
		}
	}
	if len(all)+len(clusterSchedules) == 0 {
		return nil, nil, fmt.Errorf("no SnapshotSchedule and no ClusterSnapshotSchedule in %v", files.Filenames)
	}
	return all, clusterSchedules, nil
}

// documentOf reads an object. If strict is set, an unknown field is an error.
func documentOf(o *unstructured.Unstructured, strict bool) (document, error) {
	d := document{schedule: &v1alpha1.SnapshotSchedule{}}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, d.schedule, strict); err != nil {
		return d, err
	}
	if d.spec, _ = o.Object["spec"].(map[string]any); d.spec == nil {
		d.spec = map[string]any{}
	}
	setDefaults(d.spec, map[string]any{ // as the API server does
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

// createdFrom returns the schedule that the API server creates from a manifest, which may
// come from a backup, with a status.
func createdFrom(manifest document, now time.Time) *v1alpha1.SnapshotSchedule {
	written := manifest.schedule
	return &v1alpha1.SnapshotSchedule{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: written.Namespace, Name: written.Name, UID: "new", Generation: 1,
			CreationTimestamp: metav1.NewTime(now.Truncate(time.Second)), Annotations: written.Annotations,
		},
		Spec: written.Spec,
	}
}

// editedBy returns a schedule before and after a manifest is applied to it. Every difference in the
// stored spec is a new generation, even a meaningless one, such as an empty object. A manifest that is
// applied already changes nothing.
func editedBy(manifest, present document) ahead.Variants {
	v := ahead.Variants{Present: present.schedule, Future: present.schedule, Fields: fieldChanges(present.spec, manifest.spec)}
	annotations := merged(v.Present.Annotations, manifest.schedule.Annotations) // a request, and the confirmation of the edit
	if len(v.Fields) == 0 && maps.Equal(annotations, v.Present.Annotations) {
		return v
	}
	v.Future = v.Present.DeepCopy()
	v.Future.Spec, v.Future.Annotations = manifest.schedule.Spec, annotations
	if len(v.Fields) > 0 {
		v.Future.Generation++
	}
	return v
}

// merged returns both maps in one, in which the second decides.
func merged[V any](a, b map[string]V) map[string]V {
	all := make(map[string]V, len(a)+len(b))
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}
