// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"
)

// ClaimFields are the annotations of a PVC that decisions read.
type ClaimFields struct {
	Annotations []string
	// Drivers are those of them that name the driver, if it can be one.
	Drivers  [2]string
	IsDriver func(string) bool
}

// Strip strips a PVC.
func (k *ClaimFields) Strip(o any) (any, error) {
	claim, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok {
		return o, nil
	}
	claim.ManagedFields, claim.Finalizers = nil, nil
	claim.Annotations = only(claim.Annotations, k.Annotations...)
	for _, key := range k.Drivers {
		if !k.IsDriver(claim.Annotations[key]) { // it may be long, and means nothing
			delete(claim.Annotations, key)
		}
	}
	if len(claim.Annotations) == 0 {
		claim.Annotations = nil
	}
	volume := claim.Spec.VolumeName
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		DataSource:       claim.Spec.DataSource,
		DataSourceRef:    claim.Spec.DataSourceRef,
		StorageClassName: claim.Spec.StorageClassName,
	}
	if len(volume) <= maxName { // a longer one is of no volume
		claim.Spec.VolumeName = volume
	}
	claim.Status = corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase}
	return claim, nil
}

// claims makes PVCs share the annotations that name their driver, and the
// name of their storage class: a map of its own would double a cached PVC's size.
type claims struct {
	fields *ClaimFields
	known  *lru.Cache
}

// maxStorage bounds the memory: anybody who can annotate a PVC can make up a driver.
const maxStorage = 1000

// storage is what the PVCs of one driver and storage class share. It is never
// changed.
type storage struct {
	annotations map[string]string
	class       *string
}

type storageKey struct{ driver, beta, class string }

// Transform returns what strips and interns PVCs, for one cache.
func (k *ClaimFields) Transform() func(any) (any, error) {
	return claims{k, lru.New(maxStorage)}.transform
}

func (i claims) transform(o any) (any, error) {
	stripped, err := i.fields.Strip(o)
	claim, ok := stripped.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Spec.StorageClassName == nil {
		return stripped, err
	}
	key := storageKey{
		claim.Annotations[i.fields.Drivers[0]], claim.Annotations[i.fields.Drivers[1]], *claim.Spec.StorageClassName,
	}
	found, _ := i.known.Get(key)
	known, ok := found.(*storage)
	if !ok {
		known = &storage{class: claim.Spec.StorageClassName}
		known.annotations = only(claim.Annotations, i.fields.Drivers[:]...)
		i.known.Add(key, known)
	}
	claim.Spec.StorageClassName = known.class
	// One that has others keeps its own.
	if maps.Equal(claim.Annotations, known.annotations) {
		claim.Annotations = known.annotations
	}
	return claim, nil
}
