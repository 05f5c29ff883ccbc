// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// What one object of a hostile tenant may cost. SECURITY.md has these numbers.
const (
	// maxBytesPerSchedule is for one whose spec and annotations are as large as the
	// API server accepts; 419 kB were measured.
	maxBytesPerSchedule = 600_000
	// maxBytesPerInventedKey is for an uncut snapshot with a map key and names of its own;
	// 4.1 kB were measured.
	maxBytesPerInventedKey = 4_500
	// maxBytesLeft is for the same snapshot after its deletion: 220 were
	// measured, because maps do not shrink.
	maxBytesLeft = 300
	// maxFactor is what entries that no schema bounds cost, compared with their size on
	// the API server; 6.6 was measured.
	maxFactor = 8
)

// heapOf returns by how many bytes the live heap grows.
func heapOf(do func()) int {
	before := liveHeap()
	do()
	return int(liveHeap()) - int(before)
}

func long(length, i int) string { return strings.Repeat("a", length-6) + fmt.Sprintf("%06d", i) }

// labelsAtTheBound are as many and as long as selectors and templates may have.
func labelsAtTheBound() map[string]v1alpha1.LabelValue {
	all := map[string]v1alpha1.LabelValue{}
	for i := range 32 {
		all[long(253, i)+"/"+long(63, i)] = v1alpha1.LabelValue(long(63, i))
	}
	return all
}

// largest is a schedule with everything at the bound that the API server accepts, and
// that selects the PVCs with labelsAtTheBound.
func largest(i int) scheduleBuilder {
	s := cron(v1alpha1.CronLine(strings.Repeat("1,", 251)+"1 2 * * *"), "UTC").named(fmt.Sprintf("largest-%d", i))
	s.UID = types.UID(fmt.Sprintf("5b8c3a52-0d7e-4b6a-9c55-%012d", i))
	s.Spec.Selector.MatchLabels = labelsAtTheBound()
	for e := range 16 {
		r := v1alpha1.LabelSelectorRequirement{Key: long(253, e) + "/" + long(63, 100+e), Operator: metav1.LabelSelectorOpNotIn}
		for v := range 64 {
			r.Values = append(r.Values, v1alpha1.LabelValue(long(63, v)))
		}
		s.Spec.Selector.MatchExpressions = append(s.Spec.Selector.MatchExpressions, r)
	}
	template := &s.Spec.SnapshotTemplate.Metadata
	template.Labels, template.Annotations = labelsAtTheBound(), map[string]string{}
	for key := range template.Labels {
		template.Annotations[key] = strings.Repeat("😀", 1024)
	}
	// All annotations together may have 256 KiB.
	annotate(s, "note", strings.Repeat("x", 128<<10))
	annotate(s, corev1.LastAppliedConfigAnnotation, strings.Repeat("x", 127<<10))
	s.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:` + strings.Repeat("x", 100<<10) + `":{}}`)}}
	if size := len(toJSON(s.Spec)); size < 225_000 {
		panic(fmt.Sprintf("the spec has %d bytes; test/crd says how large one may be", size))
	}
	return s
}

// addLargest adds a schedule and reconciles its keys.
func (p *population) addLargest(t *testing.T, i int) {
	t.Helper()
	must(t, p.schedules.Add(transformed(t, stripSchedule, largest(i).SnapshotSchedule, &v1alpha1.SnapshotSchedule{})))
	for _, req := range p.track() {
		p.reconcile(t, req)
	}
}

func TestMemoryOfTheLargestSchedules(t *testing.T) {
	const schedules, claims = 10, 400
	p := newPopulation(t)
	alone := heapOf(func() {
		for i := range schedules {
			p.addLargest(t, i)
		}
	}) / schedules
	t.Logf("%d bytes for each schedule", alone)
	if alone > maxBytesPerSchedule {
		t.Errorf("%d bytes for each schedule, want at most %d", alone, maxBytesPerSchedule)
	}
	labels := map[string]string{}
	for key, value := range labelsAtTheBound() {
		labels[key] = string(value)
	}
	for i := range claims {
		c := nthClaim(i).created(ago(time.Hour))
		c.Labels = labels // shared: these are not what is measured
		must(t, p.claims.Add(strip(t, stripClaim, c.PersistentVolumeClaim)))
	}
	keys := 0
	each := heapOf(func() {
		for _, req := range p.track() {
			p.reconcile(t, req)
			keys++
		}
	}) / (schedules * claims)
	t.Logf("%d bytes for each PVC of each", each)
	if keys != schedules*claims || each > maxBytesPerKey {
		t.Errorf("%d keys of %d bytes each, want %d of at most %d", keys, each, schedules*claims, maxBytesPerKey)
	}
	runtime.KeepAlive(p)
}

// invented is a cut snapshot, held, with a map key that no PVC has, labels, owners and
// annotations, and everything that no schema bounds of a given length.
func invented(s scheduleBuilder, i, length int) *snapshotv1.VolumeSnapshot {
	v := taken(s, nthClaim(i), 1)
	v.Status = &snapshotv1.VolumeSnapshotStatus{CreationTime: &v.CreationTimestamp}
	v.Spec.VolumeSnapshotClassName = ptr.To(long(length, i))
	v.Spec.Source.PersistentVolumeClaimName = ptr.To(long(length, i))
	if i%2 == 0 {
		v.Spec.Source.PersistentVolumeClaimName, v.Spec.Source.VolumeSnapshotContentName = nil, ptr.To(long(length, i))
	}
	if length > maxName {
		annotate(v, v1alpha1.AnnotationScheduledAt, long(length, i))
	}
	v.Labels["junk"] = strings.Repeat("x", 63)
	annotate(v, v1alpha1.AnnotationHold, strings.Repeat("x", 4<<10))
	annotate(v, v1alpha1.AnnotationVerifiedAt, rfc3339(noon))
	annotate(v, v1alpha1.AnnotationVerifyFailed, rfc3339(noon)+" "+strings.Repeat("x", 4<<10))
	annotate(v, "junk", strings.Repeat("x", 4<<10))
	v.OwnerReferences = append(v.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: long(253, i), UID: types.UID(long(253, i))})
	return v
}

// The API server accepts a class, a PVC or a content with a name of any length.
func TestMemoryOfInventedMapKeys(t *testing.T) {
	for name, length := range map[string]int{"with the longest names": maxName, "with text instead of names": 32 << 10} {
		t.Run(name, func(t *testing.T) { memoryOfInventedMapKeys(t, length) })
	}
}

func memoryOfInventedMapKeys(t *testing.T, length int) {
	const keys = 2_000
	p, s := newPopulation(t), every("1h").ttl("10y")
	must(t, p.schedules.Add(s.SnapshotSchedule))
	held := heapOf(func() {
		for i := range keys {
			must(t, p.snapshots.Add(transformed(t, p.interner, invented(s, i, length), &snapshotv1.VolumeSnapshot{})))
		}
		requests := p.track()
		for _, req := range requests {
			p.reconcile(t, req)
		}
		if len(requests) != keys {
			t.Fatalf("%d keys, want %d", len(requests), keys)
		}
	})
	t.Logf("%d bytes for each", held/keys)
	if held > keys*maxBytesPerInventedKey {
		t.Errorf("%d bytes for each, want at most %d", held/keys, maxBytesPerInventedKey)
	}
	left := held + heapOf(func() {
		requests := p.track()
		must(t, p.snapshots.Replace(nil, ""))
		for _, req := range requests {
			if _, err := p.Reconcile(context.Background(), req); err != nil {
				t.Fatal(err)
			}
		}
		liveHeap() // what the interner knows goes one collection later
	})
	t.Logf("%d bytes for each that was deleted", left/keys)
	if left > keys*maxBytesLeft {
		t.Errorf("%d bytes for each that was deleted, want at most %d", left/keys, maxBytesLeft)
	}
	runtime.KeepAlive(p)
}

// What no schema bounds is bounded by what etcd accepts, 1.5 MiB. The worst are very
// many, very short entries.
func TestMemoryOfManyShortEntries(t *testing.T) {
	const entries = 20_000
	name := func(i int) string { return fmt.Sprintf("%05d", i) }
	labels, finalizers, owners := map[string]string{}, []string{}, []metav1.OwnerReference{}
	for i := range entries {
		labels[name(i)] = ""
		finalizers = append(finalizers, "a/"+name(i))
		owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "A", Name: name(i), UID: types.UID(name(i))})
	}
	p := newPopulation(t)
	addClaim := func(c claimBuilder) {
		must(t, p.claims.Add(transformed(t, stripClaim, c.PersistentVolumeClaim, &corev1.PersistentVolumeClaim{})))
	}
	addSchedule := func(s scheduleBuilder) {
		must(t, p.schedules.Add(transformed(t, stripSchedule, s.SnapshotSchedule, &v1alpha1.SnapshotSchedule{})))
	}
	for _, tc := range []struct {
		name string
		what any
		add  func()
	}{
		{"labels of a PVC", labels, func() { c := nthClaim(1); c.Labels = labels; addClaim(c) }},
		{"owners of a PVC", owners, func() { c := nthClaim(2); c.OwnerReferences = owners; addClaim(c) }},
		{"labels of a schedule", labels, func() { s := every("1h").named("a"); s.Labels = labels; addSchedule(s) }},
		{"finalizers of a schedule", finalizers, func() { s := every("1h").named("b"); s.Finalizers = finalizers; addSchedule(s) }},
		{"owners of a snapshot", owners, func() {
			v := taken(every("1h"), nthClaim(1), 1)
			v.OwnerReferences = owners
			must(t, p.snapshots.Add(transformed(t, p.interner, v, &snapshotv1.VolumeSnapshot{})))
		}},
	} {
		size, got := len(toJSON(tc.what)), heapOf(tc.add)
		t.Logf("%s: %d bytes of JSON cost %d", tc.name, size, got)
		if got > maxFactor*size {
			t.Errorf("%s: %d bytes of JSON cost %d, want at most %d times as much", tc.name, size, got, maxFactor)
		}
	}
	runtime.KeepAlive(p)
}
