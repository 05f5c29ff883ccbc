// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/manifests"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
)

// manifestVariants returns the schedules before and after the manifests of files are applied.
func manifestVariants(
	ctx context.Context, f *term.Factory, files *resource.FilenameOptions,
) (all []ahead.Variants, now time.Time, err error) {
	written, clusterSchedules, err := manifests.Read(ctx, f, files)
	if err != nil {
		return nil, now, err
	}
	if now, err = f.ServerTime(ctx); err != nil { // not before: who types a manifest takes minutes
		return nil, now, err
	}
	for _, manifest := range clusterSchedules {
		children, err := childVariants(ctx, f, manifest, now)
		if err != nil {
			return nil, now, fmt.Errorf("ClusterSnapshotSchedule %s: %w", manifest.GetName(), err)
		}
		all = append(all, children...)
	}
	for _, manifest := range written {
		present, err := storedOf(ctx, f, manifest.Schedule)
		if err != nil {
			return nil, now, err
		}
		if present.Schedule == nil {
			all = append(all, ahead.Variants{Future: createdFrom(manifest, now)})
			continue
		}
		all = append(all, editedBy(manifest, present))
	}
	return all, now, nil
}

// storedOf returns a schedule as the API server has it; without a schedule if there is none.
func storedOf(ctx context.Context, f *term.Factory, named client.Object) (manifests.Document, error) {
	o, err := readStored(ctx, f, term.ScheduleKind, client.ObjectKeyFromObject(named))
	if o == nil || err != nil {
		return manifests.Document{}, err
	}
	return manifests.Of(o, false)
}

// readStored reads an object as it is stored; nil if there is none.
func readStored(
	ctx context.Context, f *term.Factory, kind schema.GroupVersionKind, key client.ObjectKey,
) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return view.LookUp(ctx, f.Client, key, o)
}

// createdFrom returns the schedule that the API server creates from a manifest, which may
// come from a backup, with a status.
func createdFrom(manifest manifests.Document, now time.Time) *v1alpha1.SnapshotSchedule {
	written := manifest.Schedule
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
func editedBy(manifest, present manifests.Document) ahead.Variants {
	v := ahead.Variants{Present: present.Schedule, Future: present.Schedule, Fields: fieldChanges(present.Spec, manifest.Spec)}
	annotations := merged(v.Present.Annotations, manifest.Schedule.Annotations) // a request, and the confirmation of the edit
	if len(v.Fields) == 0 && maps.Equal(annotations, v.Present.Annotations) {
		return v
	}
	v.Future = v.Present.DeepCopy()
	v.Future.Spec, v.Future.Annotations = manifest.Schedule.Spec, annotations
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
