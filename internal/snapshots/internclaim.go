// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/lru"
)

// claimInterner makes PVCs share the annotations that name their driver, and the
// name of their storage class: a map of its own would double a cached PVC's size.
type claimInterner struct{ known *lru.Cache }

// maxStorage bounds the memory: anybody who can annotate a PVC can make up a driver.
const maxStorage = 1000

// storage is what the PVCs of one driver and storage class share. It is never
// changed.
type storage struct {
	annotations map[string]string
	class       *string
}

type storageKey struct{ driver, beta, class string }

func newClaimInterner() claimInterner { return claimInterner{lru.New(maxStorage)} }

// transform strips a PVC and interns it, for the cache.
func (i claimInterner) transform(o any) (any, error) {
	stripped, err := stripClaim(o)
	claim, ok := stripped.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Spec.StorageClassName == nil {
		return stripped, err
	}
	key := storageKey{
		claim.Annotations[annotationProvisioner], claim.Annotations[annotationBetaProvisioner], *claim.Spec.StorageClassName,
	}
	found, _ := i.known.Get(key)
	known, ok := found.(*storage)
	if !ok {
		known = &storage{class: claim.Spec.StorageClassName}
		known.annotations = only(claim.Annotations, annotationProvisioner, annotationBetaProvisioner)
		i.known.Add(key, known)
	}
	claim.Spec.StorageClassName = known.class
	// One that has others keeps its own.
	if maps.Equal(claim.Annotations, known.annotations) {
		claim.Annotations = known.annotations
	}
	return claim, nil
}
