// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"maps"
	"reflect"
	"runtime"
	"sync"
	"weak"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// interner makes the snapshots of a PVC share what is equal in all of them: their labels, owner and source are half of a cached
// snapshot's size. Cached objects are never changed, so nobody notices. It keeps nothing alive: who creates and deletes snapshots of
// ever new series takes no memory for good.
type interner struct {
	mu    sync.Mutex
	known map[seriesKey]weak.Pointer[common]
	// classes are the names of the classes of snapshots.
	classes *lru.Cache
}

// maxClasses bounds the memory: anybody who can create snapshots can make up a class.
const maxClasses = 100

type seriesKey struct{ namespace, mapKey, schedule string }

// common is what the snapshots of a series share. It is never changed.
type common struct {
	namespace string
	labels    map[string]string
	owners    []metav1.OwnerReference
	source    *string
}

// Snapshots returns what strips and interns the snapshots of one cache.
func Snapshots() func(any) (any, error) {
	i := &interner{known: map[seriesKey]weak.Pointer[common]{}, classes: lru.New(maxClasses)}
	return func(o any) (any, error) {
		if v, is := o.(*snapshotv1.VolumeSnapshot); is {
			stripSnapshot(v)
			return pack(v, i.share(v)), nil
		}
		return o, nil
	}
}

// packed is a snapshot in one piece of memory: a decision reads the whole series,
// and with a hundred thousand series none is in the processor's caches.
type packed struct {
	snapshot snapshotv1.VolumeSnapshot
	status   snapshotv1.VolumeSnapshotStatus
	cut      metav1.Time
	// series is what the snapshot shares, for as long as one of the series is cached.
	series *common
}

// readiness has the values of readyToUse.
var readiness = map[bool]*bool{true: ptr.To(true), false: ptr.To(false)}

func pack(v *snapshotv1.VolumeSnapshot, series *common) *snapshotv1.VolumeSnapshot {
	p := &packed{snapshot: *v, series: series}
	if v.Status == nil {
		return &p.snapshot
	}
	p.status = *v.Status
	p.snapshot.Status = &p.status
	if v.Status.CreationTime != nil {
		p.cut = *v.Status.CreationTime
		p.status.CreationTime = &p.cut
	}
	if ready := v.Status.ReadyToUse; ready != nil {
		p.status.ReadyToUse = readiness[*ready]
	}
	return &p.snapshot
}

// share replaces a snapshot's values by equal ones that another snapshot of the
// series holds already, and returns them.
func (i *interner) share(v *snapshotv1.VolumeSnapshot) *common {
	key := seriesKey{v.Namespace, v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule]}
	i.mu.Lock()
	defer i.mu.Unlock()
	known := i.known[key].Value()
	if known == nil || !known.holds(v) {
		known = &common{v.Namespace, v.Labels, v.OwnerReferences, v.Spec.Source.PersistentVolumeClaimName}
		i.known[key] = weak.Make(known)
		runtime.AddCleanup(known, i.forget, key)
	}
	v.Namespace, v.Labels, v.OwnerReferences = known.namespace, known.labels, known.owners
	v.Spec.Source.PersistentVolumeClaimName = known.source
	if class := v.Spec.VolumeSnapshotClassName; class != nil {
		if equal, ok := i.classes.Get(*class); ok {
			v.Spec.VolumeSnapshotClassName = equal.(*string)
		} else {
			i.classes.Add(*class, class)
		}
	}
	return known
}

// forget drops a series of which no snapshot is left.
func (i *interner) forget(key seriesKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known[key].Value() == nil { // else others were shared since
		delete(i.known, key)
	}
}

func (c *common) holds(v *snapshotv1.VolumeSnapshot) bool {
	return maps.Equal(c.labels, v.Labels) &&
		reflect.DeepEqual(c.owners, v.OwnerReferences) &&
		ptr.Equal(c.source, v.Spec.Source.PersistentVolumeClaimName)
}

// maxStorage bounds the memory: anybody who can annotate a PVC can make up a driver.
const maxStorage = 1000

// storage is what the PVCs of one driver and storage class share: a map of its own would double a cached PVC's size. It is never
// changed.
type storage struct {
	annotations map[string]string
	class       *string
}

type storageKey struct{ driver, beta, class string }

// Claims returns what strips the PVCs of one cache, but for some annotations, and interns them. Two annotations name their driver, if
// that can be one.
func Claims(drivers [2]string, isDriver func(string) bool, annotations ...string) func(any) (any, error) {
	known := lru.New(maxStorage)
	return of(func(claim *corev1.PersistentVolumeClaim) {
		stripClaim(claim, drivers, isDriver, annotations)
		if claim.Spec.StorageClassName == nil {
			return
		}
		key := storageKey{claim.Annotations[drivers[0]], claim.Annotations[drivers[1]], *claim.Spec.StorageClassName}
		found, _ := known.Get(key)
		shared, ok := found.(*storage)
		if !ok {
			shared = &storage{only(claim.Annotations, drivers[:]...), claim.Spec.StorageClassName}
			known.Add(key, shared)
		}
		claim.Spec.StorageClassName = shared.class
		if maps.Equal(claim.Annotations, shared.annotations) { // one that has others keeps its own
			claim.Annotations = shared.annotations
		}
	})
}
