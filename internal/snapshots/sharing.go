// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"reflect"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// sharing has the snapshots of a PVC hold what is alike in all of them, its
// labels, owner and source, only once: that is half of what they weigh. Cached
// objects are never changed, so nobody notices.
type sharing struct {
	alike *lru.Cache
}

// maxAlike bounds the memory where there are that many PVCs: beyond it the
// snapshots of some of them hold their own again.
const maxAlike = 100_000

type alikeKey struct{ namespace, mapKey, schedule string }

// alike is never changed once it is in the cache.
type alike struct {
	namespace string
	labels    map[string]string
	owners    []metav1.OwnerReference
	source    *string
}

func newSharing() *sharing { return &sharing{alike: lru.New(maxAlike)} }

// transform is for the cache.
func (s *sharing) transform(o any) (any, error) {
	stripped, err := stripSnapshot(o)
	v, ok := stripped.(*snapshotv1.VolumeSnapshot)
	if !ok {
		return stripped, err
	}
	s.share(v)
	return pack(v), nil
}

// packed is a snapshot in one piece of memory: a look at a series reads all of
// it, and of a hundred thousand series none is in the processor's caches.
type packed struct {
	snapshot snapshotv1.VolumeSnapshot
	status   snapshotv1.VolumeSnapshotStatus
	cut      metav1.Time
}

var isReady, isNotReady = ptr.To(true), ptr.To(false)

func pack(v *snapshotv1.VolumeSnapshot) *snapshotv1.VolumeSnapshot {
	if v.Status == nil {
		return v
	}
	p := &packed{snapshot: *v, status: *v.Status}
	p.snapshot.Status = &p.status
	if v.Status.CreationTime != nil {
		p.cut = *v.Status.CreationTime
		p.status.CreationTime = &p.cut
	}
	if ready := v.Status.ReadyToUse; ready != nil {
		p.status.ReadyToUse = isNotReady
		if *ready {
			p.status.ReadyToUse = isReady
		}
	}
	return &p.snapshot
}

// share replaces what a snapshot holds by equal values that another one holds
// already.
func (s *sharing) share(v *snapshotv1.VolumeSnapshot) {
	key := alikeKey{v.Namespace, v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule]}
	found, _ := s.alike.Get(key)
	known, ok := found.(*alike)
	if !ok || !known.holds(v) {
		known = &alike{
			namespace: v.Namespace,
			labels:    v.Labels,
			owners:    v.OwnerReferences,
			source:    v.Spec.Source.PersistentVolumeClaimName,
		}
		s.alike.Add(key, known)
		return
	}
	v.Namespace, v.Labels, v.OwnerReferences = known.namespace, known.labels, known.owners
	v.Spec.Source.PersistentVolumeClaimName = known.source
}

func (a *alike) holds(v *snapshotv1.VolumeSnapshot) bool {
	return maps.Equal(a.labels, v.Labels) &&
		reflect.DeepEqual(a.owners, v.OwnerReferences) &&
		ptr.Equal(a.source, v.Spec.Source.PersistentVolumeClaimName)
}
