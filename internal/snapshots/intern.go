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

// interner makes the snapshots of a PVC share what is equal in all of them: their
// labels, owner and source are half of a cached snapshot's size. Cached objects
// are never changed, so nobody notices.
type interner struct {
	known *lru.Cache
}

// maxInterned bounds the memory. With more PVCs, the snapshots of some of them
// hold their own values again.
const maxInterned = 100_000

type seriesKey struct{ namespace, mapKey, schedule string }

// common is what the snapshots of a series share. It is never changed.
type common struct {
	namespace string
	labels    map[string]string
	owners    []metav1.OwnerReference
	source    *string
}

func newInterner() *interner { return &interner{known: lru.New(maxInterned)} }

// transform strips a snapshot and interns it, for the cache.
func (i *interner) transform(o any) (any, error) {
	stripped, err := stripSnapshot(o)
	v, ok := stripped.(*snapshotv1.VolumeSnapshot)
	if !ok {
		return stripped, err
	}
	i.share(v)
	return pack(v), nil
}

// packed is a snapshot in one piece of memory: a decision reads the whole series,
// and with a hundred thousand series none is in the processor's caches.
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

// share replaces a snapshot's values by equal ones that another snapshot of the
// series holds already.
func (i *interner) share(v *snapshotv1.VolumeSnapshot) {
	key := seriesKey{v.Namespace, v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule]}
	found, _ := i.known.Get(key)
	known, ok := found.(*common)
	if !ok || !known.holds(v) {
		known = &common{
			namespace: v.Namespace,
			labels:    v.Labels,
			owners:    v.OwnerReferences,
			source:    v.Spec.Source.PersistentVolumeClaimName,
		}
		i.known.Add(key, known)
		return
	}
	v.Namespace, v.Labels, v.OwnerReferences = known.namespace, known.labels, known.owners
	v.Spec.Source.PersistentVolumeClaimName = known.source
}

func (c *common) holds(v *snapshotv1.VolumeSnapshot) bool {
	return maps.Equal(c.labels, v.Labels) &&
		reflect.DeepEqual(c.owners, v.OwnerReferences) &&
		ptr.Equal(c.source, v.Spec.Source.PersistentVolumeClaimName)
}
