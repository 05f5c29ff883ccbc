// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
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
		DefaultNamespaces: only,
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&snapshotv1.VolumeSnapshot{}: {
				Label:     labels.NewSelector().Add(*tagged),
				Transform: newInterner().transform,
			},
			&corev1.PersistentVolumeClaim{}:   {Transform: newClaimInterner().transform},
			&snapshotv1.VolumeSnapshotClass{}: {Transform: stripClass},
			&v1alpha1.SnapshotSchedule{}:      {Transform: stripSchedule},
		},
	}
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

// maxName is how long the name of an object can be. The schema of VolumeSnapshots
// bounds none of the names in them.
const maxName = 253

// noName stands in the cache for a longer name. Nothing can have it, and it is not nil:
// which of its two sources a snapshot has says whether it was imported.
var noName = ptr.To("-")

func bounded(name *string) *string {
	if name != nil && len(*name) > maxName {
		return noName
	}
	return name
}

// newInformer is the type of cache.Options.NewInformer.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

func stripSnapshot(o any) (any, error) {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	if !ok {
		return o, nil
	}
	v.ManagedFields = nil
	v.Finalizers = nil
	v.SelfLink = "" //nolint:staticcheck // nobody fills it any more, but a user may write any text into it
	v.Labels = only(v.Labels, v1alpha1.LabelMapKey, v1alpha1.LabelSchedule)
	v.GenerateName = slotText(v)
	if _, held := v.Annotations[v1alpha1.AnnotationHold]; held {
		v.Annotations = onHold
	} else {
		v.Annotations = nil
	}
	// The class of an uncut one tells whose limit it counts towards, if there can be one of its name.
	if class := v.Spec.VolumeSnapshotClassName; !isUncut(v) || class != nil && len(*class) > maxName {
		v.Spec.VolumeSnapshotClassName = nil
	}
	source := &v.Spec.Source
	source.PersistentVolumeClaimName, source.VolumeSnapshotContentName =
		bounded(source.PersistentVolumeClaimName), bounded(source.VolumeSnapshotContentName)
	if v.Status != nil {
		v.Status.VolumeGroupSnapshotName = bounded(v.Status.VolumeGroupSnapshotName)
		v.Status.BoundVolumeSnapshotContentName = nil
		v.Status.RestoreSize = nil
		if v.Status.Error != nil {
			v.Status.Error = &snapshotv1.VolumeSnapshotError{Time: v.Status.Error.Time}
		}
	}
	return v, nil
}

// onHold are the annotations of all cached snapshots that are held: why they are
// does not matter. It is never changed.
var onHold = map[string]string{v1alpha1.AnnotationHold: ""}

// slotText returns the slot of a snapshot of the cache or of the API server. The
// cache keeps it in generateName, which it has no other use for: a map with this
// one annotation would be a third of a cached snapshot's size. An informer may
// strip a snapshot twice.
func slotText(v *snapshotv1.VolumeSnapshot) string {
	text, ok := v.Annotations[v1alpha1.AnnotationScheduledAt]
	if !ok {
		text = v.GenerateName
	}
	if len(text) > len(time.RFC3339Nano) { // it is no time, and may have 256 KiB
		return ""
	}
	return text
}

func stripClaim(o any) (any, error) {
	claim, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return o, nil
	}
	claim.ManagedFields = nil
	claim.Finalizers = nil
	claim.Annotations = only(claim.Annotations, claimAnnotations...)
	for _, key := range [...]string{annotationProvisioner, annotationBetaProvisioner} {
		if driverNamed(claim.Annotations[key]) == "" { // it may be long, and means nothing
			delete(claim.Annotations, key)
		}
	}
	if len(claim.Annotations) == 0 {
		claim.Annotations = nil
	}
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		DataSource:       claim.Spec.DataSource,
		DataSourceRef:    claim.Spec.DataSourceRef,
		StorageClassName: claim.Spec.StorageClassName,
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	return claim, nil
}

// claimAnnotations are those of a PVC that decisions read.
var claimAnnotations = []string{
	v1alpha1.AnnotationExclude, annotationProvisioner, annotationBetaProvisioner, corev1.BetaStorageClassAnnotation,
}

// stripSchedule leaves what a ClusterSnapshotSchedule may compare: labels and all
// annotations but the copy of the schedule that kubectl apply writes. A status that
// was never written is taken as empty, without the schema's default: the first merge
// patch of it would omit the counts that are zero, and the API server reject it.
func stripSchedule(o any) (any, error) {
	if s, ok := o.(*v1alpha1.SnapshotSchedule); ok {
		s.ManagedFields = nil
		delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
		s.Status.ObservedGeneration = max(s.Status.ObservedGeneration, 0)
	}
	return o, nil
}

func only(all map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, ok := all[key]; ok {
			if kept == nil {
				kept = make(map[string]string, len(keys))
			}
			kept[key] = value
		}
	}
	return kept
}
