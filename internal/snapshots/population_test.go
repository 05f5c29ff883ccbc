// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// population fills stores as informers do: every object comes as JSON, goes
// through the transform and into the indexes.
type population struct {
	stores                       *Stores
	sharing                      *sharing
	schedules, claims, snapshots toolscache.Indexer
}

func newPopulation() *population {
	byNamespace := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	forClaims, forSnapshots := Indexers()
	maps.Copy(forClaims, byNamespace)
	maps.Copy(forSnapshots, byNamespace)
	p := &population{
		stores:    NewStores(),
		sharing:   newSharing(),
		schedules: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, byNamespace),
		claims:    toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, forClaims),
		snapshots: toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, forSnapshots),
	}
	p.stores.Add(&v1alpha1.SnapshotSchedule{}, p.schedules)
	p.stores.Add(&corev1.PersistentVolumeClaim{}, p.claims)
	p.stores.Add(&snapshotv1.VolumeSnapshot{}, p.snapshots)
	return p
}

// populated has a schedule that takes a snapshot of every PVC each hour and keeps
// them for years: nothing is due, and nothing expires.
func populated(tb testing.TB, claims, snapshotsEach int) *population {
	tb.Helper()
	p := newPopulation()
	s := every("1h").ttl("10y")
	must(tb, p.schedules.Add(s.SnapshotSchedule))
	for i := range claims {
		p.addClaim(tb, s, i, snapshotsEach)
	}
	return p
}

func (p *population) addClaim(tb testing.TB, s aSchedule, i, snapshots int) {
	c := nthClaim(i)
	must(tb, p.claims.Add(through(tb, stripClaim, c.PersistentVolumeClaim, &corev1.PersistentVolumeClaim{})))
	p.addSnapshots(tb, s, i, 0, snapshots)
}

func (p *population) addSnapshots(tb testing.TB, s aSchedule, i, from, to int) {
	c := nthClaim(i)
	for n := from; n < to; n++ {
		must(tb, p.snapshots.Add(through(tb, p.sharing.transform, taken(s, c, n), &snapshotv1.VolumeSnapshot{})))
	}
}

func nthClaim(i int) aClaim {
	c := claim(fmt.Sprintf("data-%d", i))
	c.UID = types.UID(fmt.Sprintf("6f1c3a52-0d7e-4b6a-9c55-%012d", i))
	return c
}

// taken is the nth last snapshot of a PVC, with all that a cluster writes on it.
func taken(s aSchedule, c aClaim, n int) *snapshotv1.VolumeSnapshot {
	slot := noon.Add(-time.Duration(n) * time.Hour)
	v := newSnapshot(s.SnapshotSchedule, c.PersistentVolumeClaim, slot)
	v.Namespace, v.ResourceVersion, v.Generation = c.Namespace, "1234567", 1
	v.UID = types.UID(fmt.Sprintf("%s-%06d", c.UID[:28], n))
	v.CreationTimestamp = metav1.NewTime(slot)
	v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule] = string(c.UID), s.Name
	v.Finalizers = []string{
		"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
	}
	v.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "SnapshotSchedule", Name: s.Name, UID: s.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}}
	v.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: Name, Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)},
		{Manager: "snapshot-controller", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
	}
	v.Status = &snapshotv1.VolumeSnapshotStatus{
		BoundVolumeSnapshotContentName: ptr.To("snapcontent-" + string(v.UID)),
		CreationTime:                   ptr.To(metav1.NewTime(slot.Add(time.Second))),
		ReadyToUse:                     ptr.To(true),
	}
	return v
}

func through[T any](tb testing.TB, transform toolscache.TransformFunc, o, empty T) T {
	tb.Helper()
	text, err := json.Marshal(o)
	must(tb, err)
	must(tb, json.Unmarshal(text, empty))
	stripped, err := transform(empty)
	must(tb, err)
	return stripped.(T)
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
