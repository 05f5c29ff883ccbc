// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

// CacheOptions restricts the cache to what is read: the snapshots that carry a
// map key, and of them and of PVCs only the fields that decisions use. Without
// namespaces it watches all of them.
func CacheOptions(stores *Stores, namespaces ...string) cache.Options {
	tagged, err := labels.NewRequirement(v1alpha1.LabelMapKey, selection.Exists, nil)
	if err != nil {
		panic(err) // the label is a constant
	}
	var only map[string]cache.Config
	if len(namespaces) > 0 {
		only = make(map[string]cache.Config, len(namespaces))
		for _, namespace := range namespaces {
			only[namespace] = cache.Config{}
		}
	}
	return cache.Options{
		NewInformer:       withoutNamespaces(stores.NewInformer),
		SyncPeriod:        new(time.Duration), // keys are requeued by time: to deliver all objects again finds nothing
		DefaultNamespaces: only,
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&snapshotv1.VolumeSnapshot{}: {
				Label:     labels.NewSelector().Add(*tagged),
				Transform: cached.Snapshots(),
			},
			&corev1.PersistentVolumeClaim{}:     {Transform: claimsCached()},
			&snapshotv1.VolumeSnapshotClass{}:   {Transform: cached.Class(classAnnotations...)},
			&groupv1.VolumeGroupSnapshot{}:      {Label: labels.NewSelector().Add(*tagged), Transform: cached.Group},
			&groupv1.VolumeGroupSnapshotClass{}: {Transform: cached.Class(classAnnotations...)},
			&v1alpha1.SnapshotSchedule{}:        {Transform: cached.Schedule},
		},
	}
}

// claimsCached returns what keeps of PVCs what decisions read.
func claimsCached() func(any) (any, error) {
	isDriver := func(name string) bool { return driverNamed(name) != "" }
	return cached.Claims([...]string{annotationProvisioner, annotationBetaProvisioner}, isDriver,
		v1alpha1.AnnotationExclude, corev1.BetaStorageClassAnnotation)
}

// withoutNamespaces drops the index of snapshots by namespace, which every informer
// of a manager gets: they are found by their owners, and the index is a fifteenth of
// a cached snapshot's size.
func withoutNamespaces(newInformer newInformer) newInformer {
	return func(
		source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
	) toolscache.SharedIndexInformer {
		if _, ok := example.(*snapshotv1.VolumeSnapshot); ok {
			delete(indexers, toolscache.NamespaceIndex)
		}
		return newInformer(source, example, resync, indexers)
	}
}

// newInformer is the type of cache.Options.NewInformer.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// The examples of the kinds that are looked up.
var (
	anyGroup      = &groupv1.VolumeGroupSnapshot{}
	anyGroupClass = &groupv1.VolumeGroupSnapshotClass{}
	anySchedule   = &v1alpha1.SnapshotSchedule{}
	anySnapshot   = &snapshotv1.VolumeSnapshot{}
	anyClass      = &snapshotv1.VolumeSnapshotClass{}
)
