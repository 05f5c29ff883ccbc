// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"net/http"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// restoresIndex finds the PVCs that are still being filled from a
// VolumeSnapshot, by the namespace of the snapshot.
const restoresIndex = Name + "/restores"

// CacheOptions narrows the cache to what is read: the snapshots that carry a
// map key, and of them and of PVCs only the fields that decisions look at. With
// no namespace it watches all of them.
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
		NewInformer:       stores.NewInformer,
		DefaultNamespaces: only,
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&snapshotv1.VolumeSnapshot{}: {
				Label:     labels.NewSelector().Add(*tagged),
				Transform: newSharing().transform,
			},
			&corev1.PersistentVolumeClaim{}: {Transform: stripClaim},
		},
	}
}

// Configure leaves the rate of requests to the API server's own fairness, and
// has the server's clock read off its answers.
func Configure(config *rest.Config, c clock.PassiveClock) {
	config.QPS = -1
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return mapcontroller.ServerClock{Base: base, Clock: c}
	})
}

// Mapper knows VolumeSnapshots without asking: the cache is set up for them
// also where their definition is not installed (yet).
func Mapper(config *rest.Config, httpClient *http.Client) (meta.RESTMapper, error) {
	dynamic, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, err
	}
	known := meta.NewDefaultRESTMapper([]schema.GroupVersion{snapshotv1.SchemeGroupVersion})
	known.Add(snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), meta.RESTScopeNamespace)
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, dynamic}}, nil
}

func stripSnapshot(o any) (any, error) {
	v, ok := o.(*snapshotv1.VolumeSnapshot)
	if !ok {
		return o, nil
	}
	v.ManagedFields = nil
	v.Finalizers = nil
	v.Labels = only(v.Labels, v1alpha1.LabelMapKey, v1alpha1.LabelSchedule)
	stowSlot(v)
	v.Annotations = only(v.Annotations, v1alpha1.AnnotationHold)
	v.Spec.VolumeSnapshotClassName = nil
	if v.Status != nil {
		v.Status.BoundVolumeSnapshotContentName = nil
		v.Status.RestoreSize = nil
		v.Status.VolumeGroupSnapshotName = nil
		if v.Status.Error != nil {
			v.Status.Error = &snapshotv1.VolumeSnapshotError{}
		}
	}
	return v, nil
}

// stowSlot puts the slot where the cache has no other use for: a map that holds
// this one annotation would be a third of what a snapshot weighs. An informer
// may strip a snapshot twice.
func stowSlot(v *snapshotv1.VolumeSnapshot) { v.GenerateName = slotText(v) }

// slotText is the slot of a snapshot, of the cache or of the API server.
func slotText(v *snapshotv1.VolumeSnapshot) string {
	if text, ok := v.Annotations[v1alpha1.AnnotationScheduledAt]; ok {
		return text
	}
	return v.GenerateName
}

func stripClaim(o any) (any, error) {
	claim, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return o, nil
	}
	claim.ManagedFields = nil
	claim.Finalizers = nil
	claim.Annotations = only(claim.Annotations, v1alpha1.AnnotationRequestedAt)
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		DataSource:    claim.Spec.DataSource,
		DataSourceRef: claim.Spec.DataSourceRef,
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	return claim, nil
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

// restoringFrom is the snapshot that a PVC is still being filled from.
func restoringFrom(claim *corev1.PersistentVolumeClaim) (namespace, name string, ok bool) {
	if claim.Status.Phase != corev1.ClaimPending {
		return "", "", false
	}
	// The API server fills in each of the two from the other, where it can.
	if ref := claim.Spec.DataSourceRef; ref != nil && isSnapshot(ref.APIGroup, ref.Kind) {
		if ref.Namespace != nil && *ref.Namespace != "" {
			return *ref.Namespace, ref.Name, true
		}
		return claim.Namespace, ref.Name, true
	}
	if ref := claim.Spec.DataSource; ref != nil && isSnapshot(ref.APIGroup, ref.Kind) {
		return claim.Namespace, ref.Name, true
	}
	return "", "", false
}

func isSnapshot(group *string, kind string) bool {
	return group != nil && *group == snapshotv1.GroupName && kind == "VolumeSnapshot"
}

func restoresIndexers() toolscache.Indexers {
	return toolscache.Indexers{restoresIndex: func(o any) ([]string, error) {
		if namespace, _, ok := restoringFrom(o.(*corev1.PersistentVolumeClaim)); ok {
			return []string{namespace}, nil
		}
		return nil, nil
	}}
}

// restores looks up, by index, which snapshots of a namespace PVCs are being
// filled from: mostly none.
func restores(stores *Stores) func(namespace string) (map[string]bool, error) {
	return func(namespace string) (map[string]bool, error) {
		claims, err := mapcontroller.ByIndex(stores, &corev1.PersistentVolumeClaim{}, restoresIndex, namespace)
		if err != nil || len(claims) == 0 {
			return nil, err
		}
		names := make(map[string]bool, len(claims))
		for _, claim := range claims {
			if _, name, ok := restoringFrom(claim); ok {
				names[name] = true
			}
		}
		return names, nil
	}
}
