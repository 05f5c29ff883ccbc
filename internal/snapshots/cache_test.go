// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

const maxName = 253

var stripSnapshot, stripMember, stripGroup, stripSchedule, newInterner = cached.Snapshot, cached.Member, cached.Group, cached.Schedule, cached.NewSnapshots

// fullSnapshot returns a snapshot with every field that one has on a real
// cluster.
func fullSnapshot() *snapshotv1.VolumeSnapshot {
	size := resource.MustParse("1Gi")
	s := erring(time.Hour).held()
	s.UID, s.ResourceVersion, s.Generation = "snapshot-uid", "42", 2
	s.Labels = map[string]string{v1alpha1.LabelMapKey: "data-uid", v1alpha1.LabelSchedule: "backup", "tier": "gold"}
	annotate(s, "note", "ours")
	s.Finalizers = []string{"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"}
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	s.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other-uid"},
		every("6h").ownerReference(),
	}
	s.Spec.VolumeSnapshotClassName = ptr.To("fast")
	s.Status.ReadyToUse = ptr.To(true)
	s.Status.BoundVolumeSnapshotContentName = ptr.To("content")
	s.Status.RestoreSize = &size
	s.Status.Error = &snapshotv1.VolumeSnapshotError{Time: ptr.To(metav1.NewTime(ago(time.Minute))), Message: ptr.To("driver is away")}
	return s.VolumeSnapshot
}

func strip[T any](t *testing.T, transform func(any) (any, error), o T) T {
	t.Helper()
	stripped, err := transform(o)
	must(t, err)
	return stripped.(T)
}

func TestStripSnapshotKeepsWhatDecisionsRead(t *testing.T) {
	full := fullSnapshot()
	stripped := strip(t, stripSnapshot, full.DeepCopy())
	before, after := snapshotsOf([]client.Object{full}, nil), snapshotsOf([]client.Object{stripped}, nil)
	if before[0] != after[0] || before[0].HeldUntil != retention.Forever || !before[0].HasError || before[0].ErrorTime.IsZero() || !before[0].HasCutTime {
		t.Errorf("decisions see %+v, of the whole %+v", after[0], before[0])
	}
	if backup.ClaimName(stripped) != "data" || !covers(full, stripped) || !backup.ReadyToUse(stripped) {
		t.Error("PVC, slot or readiness are missing")
	}
	for what, pair := range map[string][2]any{
		"UID":             {full.UID, stripped.UID},
		"resourceVersion": {full.ResourceVersion, stripped.ResourceVersion},
		"owners":          {full.OwnerReferences, stripped.OwnerReferences},
		"map key":         {full.Labels[v1alpha1.LabelMapKey], stripped.Labels[v1alpha1.LabelMapKey]},
		"schedule":        {full.Labels[v1alpha1.LabelSchedule], stripped.Labels[v1alpha1.LabelSchedule]},
	} {
		if toJSON(pair[0]) != toJSON(pair[1]) {
			t.Errorf("%s is %s, was %s", what, toJSON(pair[1]), toJSON(pair[0]))
		}
	}
}

// Contract: STAT-9.
func TestStripScheduleTakesAStatusThatWasNeverWrittenAsEmpty(t *testing.T) {
	s := every("6h").SnapshotSchedule
	s.Status = v1alpha1.SnapshotScheduleStatus{ObservedGeneration: -1}
	if got := strip(t, stripSchedule, s).Status; toJSON(got) != toJSON(v1alpha1.SnapshotScheduleStatus{}) {
		t.Errorf("it is %s, want an empty one", toJSON(got))
	}
	s.Status.ObservedGeneration = 3
	if got := strip(t, stripSchedule, s).Status.ObservedGeneration; got != 3 {
		t.Errorf("of another, observedGeneration is %d, want 3", got)
	}
}

func TestStripSnapshotDropsTheRest(t *testing.T) {
	stripped := strip(t, stripSnapshot, fullSnapshot())
	const want = `{"metadata":{"name":"1h0m0s","generateName":"2026-06-15T11:00:00Z","namespace":"shop","uid":"snapshot-uid","resourceVersion":"42","generation":2,` +
		`"creationTimestamp":"2026-06-15T11:00:00Z",` +
		`"labels":{"snapshots.mapcontroller.dev/map-key":"data-uid","snapshots.mapcontroller.dev/schedule":"backup"},` +
		`"annotations":{"snapshots.mapcontroller.dev/hold":""},` +
		`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":"other-uid"},` +
		`{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","kind":"SnapshotSchedule","name":"backup","uid":"schedule-uid",` +
		`"controller":true,"blockOwnerDeletion":true}]},"spec":{"source":{"persistentVolumeClaimName":"data"},"volumeSnapshotClassName":"fast"},` +
		`"status":{"creationTime":"2026-06-15T11:00:00Z","readyToUse":true,"error":{"time":"2026-06-15T11:59:00Z"}}}`
	if got := toJSON(stripped); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What cannot be the name of an object, or a time, takes no memory, and decisions read
// the same of it in the cache as on the API server.
func TestStripBoundsWhatNoSchemaBounds(t *testing.T) {
	for name, length := range map[string]int{"names that can exist": maxName, "longer ones": maxName + 1} {
		t.Run(name, func(t *testing.T) {
			text := long(length, 1)
			kept := length <= maxName
			own, other := uncut(time.Hour).VolumeSnapshot, imported(time.Hour).VolumeSnapshot
			own.Spec.VolumeSnapshotClassName, own.Spec.Source.PersistentVolumeClaimName = &text, &text
			other.Spec.Source.VolumeSnapshotContentName = &text
			for _, v := range []*snapshotv1.VolumeSnapshot{own, other} {
				annotate(v, v1alpha1.AnnotationScheduledAt, noon.Format("2006-01-02T15:04:05.")+strings.Repeat("0", 30)+"Z")
				cached := strip(t, stripSnapshot, v.DeepCopy())
				if got := strings.Contains(toJSON(cached), text); got != kept {
					t.Errorf("kept: %v, want %v: %s", got, kept, toJSON(cached))
				}
				before, after := snapshotsOf([]client.Object{v}, nil), snapshotsOf([]client.Object{cached}, nil)
				if before[0] != after[0] || !before[0].ScheduledAt.IsZero() || (backup.ClaimName(v) == "") != (backup.ClaimName(cached) == "") {
					t.Errorf("decisions see %+v, of the whole %+v", after[0], before[0])
				}
			}
		})
	}
}

// The class tells whose limit an uncut snapshot counts towards, and whether the data of a deleted one stays.
func TestStripKeepsTheClassAndSharesItsName(t *testing.T) {
	intern := newInterner()
	cached := func(s snapshotBuilder) *string {
		s.Spec.VolumeSnapshotClassName = ptr.To("fast")
		return strip(t, intern.Transform, s.VolumeSnapshot).Spec.VolumeSnapshotClassName
	}
	first := cached(uncut(time.Hour))
	for _, s := range []snapshotBuilder{uncut(time.Minute), uploading(time.Hour), ready(time.Hour), imported(time.Hour)} {
		if got := cached(s); got != first || *got != "fast" {
			t.Errorf("%v, want the name of the first, %v", got, first)
		}
	}
}

func TestStripScheduleDropsWhatKubectlAndTheAPIServerAdd(t *testing.T) {
	s := every("6h").requested("2026-06-15T12:00:00Z")
	s.Labels = map[string]string{"team": "a"}
	annotate(s, "note", "ours")
	want := toJSON(s.SnapshotSchedule)
	annotate(s, corev1.LastAppliedConfigAnnotation, "{}")
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	if got := toJSON(strip(t, stripSchedule, s.SnapshotSchedule)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An informer may transform an object that was transformed before.
func TestStrippingTwiceChangesNothing(t *testing.T) {
	once := strip(t, stripSnapshot, fullSnapshot())
	want := toJSON(once)
	if got := toJSON(strip(t, stripSnapshot, once)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	claimed := strip(t, claimFields.Strip, claim("data").of(testDriver).PersistentVolumeClaim)
	want = toJSON(claimed)
	if got := toJSON(strip(t, claimFields.Strip, claimed)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStripLeavesOtherTypesUnchanged(t *testing.T) {
	for _, o := range []any{&corev1.ConfigMap{}, "tombstone"} {
		if got, err := stripSnapshot(o); got != o || err != nil {
			t.Errorf("snapshot: %v, %v", got, err)
		}
		if got, err := claimFields.Strip(o); got != o || err != nil {
			t.Errorf("claim: %v, %v", got, err)
		}
		if got, err := stripSchedule(o); got != o || err != nil {
			t.Errorf("schedule: %v, %v", got, err)
		}
	}
	bare := strip(t, stripSnapshot, &snapshotv1.VolumeSnapshot{})
	if bare.Labels != nil || bare.Annotations != nil || bare.Status != nil {
		t.Errorf("an empty snapshot becomes %+v", bare)
	}
}

// Adoption and release patch the cached object. The patch must contain owners
// and nothing else: a stripped field is not a removed one.
//
// Contract: OWN-1.
func TestPatchOfAStrippedSnapshotContainsOwnersOnly(t *testing.T) {
	scheme := runtime.NewScheme()
	must(t, v1alpha1.AddToScheme(scheme))
	stripped := strip(t, stripSnapshot, fullSnapshot())
	orphan := stripped.DeepCopy()
	orphan.OwnerReferences = stripped.OwnerReferences[:1]
	adopted := orphan.DeepCopy()
	must(t, controllerutil.SetControllerReference(every("6h").SnapshotSchedule, adopted, scheme))
	const other = `{"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":"other-uid"}`
	const owner = `{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","blockOwnerDeletion":true,"controller":true,` +
		`"kind":"SnapshotSchedule","name":"backup","uid":"schedule-uid"}`
	for what, tc := range map[string]struct {
		from, to *snapshotv1.VolumeSnapshot
		want     string
	}{
		"adopt":   {orphan, adopted, `{"metadata":{"ownerReferences":[` + other + `,` + owner + `],"resourceVersion":"42"}}`},
		"release": {stripped, orphan, `{"metadata":{"ownerReferences":[` + other + `],"resourceVersion":"42"}}`},
	} {
		patch, err := client.MergeFromWithOptions(tc.from, client.MergeFromWithOptimisticLock{}).Data(tc.to)
		if err != nil {
			t.Fatal(err)
		}
		if string(patch) != tc.want {
			t.Errorf("%s: got %s, want %s", what, patch, tc.want)
		}
	}
}

func TestStripClaim(t *testing.T) {
	full := claim("data").from(snapshotv1.GroupName, "VolumeSnapshot", "s").
		fromRef(snapshotv1.GroupName, "VolumeSnapshot", "other", "s").deleting().PersistentVolumeClaim
	full.Labels = map[string]string{"app": "shop"}
	full.Spec.StorageClassName = ptr.To("fast")
	for _, read := range []string{
		v1alpha1.AnnotationExclude, annotationProvisioner, annotationBetaProvisioner, corev1.BetaStorageClassAnnotation,
	} {
		annotate(full, read, "x")
	}
	full.ResourceVersion = "42"
	full.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "x", UID: "x", Controller: ptr.To(true)}}
	full.Spec.VolumeName = "pv"
	want := toJSON(full)
	annotate(full, "note", "ours")
	annotate(full, v1alpha1.AnnotationRequestedAt, "2026-06-15T12:00:00Z") // ignored, as is any other
	full.Finalizers = []string{"kubernetes.io/pvc-protection"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	full.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Resizing"}}
	if got := toJSON(strip(t, claimFields.Strip, full)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Contract: RET-1.
func TestRestoringFrom(t *testing.T) {
	pending := func() claimBuilder { return claim("new").phase(corev1.ClaimPending) }
	group := snapshotv1.GroupName
	tests := map[string]struct {
		claim         claimBuilder
		wantNamespace string
		wantName      string
	}{
		"dataSource":                     {pending().from(group, "VolumeSnapshot", "s"), "shop", "s"},
		"dataSourceRef":                  {pending().fromRef(group, "VolumeSnapshot", "", "s"), "shop", "s"},
		"of another namespace":           {pending().fromRef(group, "VolumeSnapshot", "other", "s"), "other", "s"},
		"both":                           {pending().from(group, "VolumeSnapshot", "s").fromRef(group, "VolumeSnapshot", "other", "s"), "other", "s"},
		"Bound":                          {claim("new").from(group, "VolumeSnapshot", "s"), "", ""},
		"Lost":                           {pending().phase(corev1.ClaimLost).from(group, "VolumeSnapshot", "s"), "", ""},
		"without a source":               {pending(), "", ""},
		"clone of a PVC":                 {pending().from("", "PersistentVolumeClaim", "s"), "", ""},
		"another group's VolumeSnapshot": {pending().from("example.com", "VolumeSnapshot", "s"), "", ""},
		"ref of another kind":            {pending().fromRef("example.com", "Backup", "", "s"), "", ""},
		"after the transform":            {claimBuilder{strip(t, claimFields.Strip, pending().from(group, "VolumeSnapshot", "s").PersistentVolumeClaim)}, "shop", "s"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			namespace, name, ok := restoringFrom(tc.claim.PersistentVolumeClaim)
			if namespace != tc.wantNamespace || name != tc.wantName || ok != (tc.wantName != "") {
				t.Errorf("got %s/%s, %v, want %s/%s", namespace, name, ok, tc.wantNamespace, tc.wantName)
			}
		})
	}
}

// Contract: RET-1.
func TestRelatedAreRestoresFromTheNamespaceOfTheSchedule(t *testing.T) {
	p := newPopulation(t)
	for name, c := range map[string]claimBuilder{
		"restore": claim("").phase(corev1.ClaimPending).from(snapshotv1.GroupName, "VolumeSnapshot", "s"),
		"other":   claim("").phase(corev1.ClaimPending).fromRef(snapshotv1.GroupName, "VolumeSnapshot", "other", "s"),
		"done":    claim("").from(snapshotv1.GroupName, "VolumeSnapshot", "s"),
	} {
		c.Name = name
		must(t, p.claims.Add(c.PersistentVolumeClaim))
	}
	if got := p.related(every("6h").SnapshotSchedule, "data-uid"); len(got) != 1 || got[0].GetName() != "restore" {
		t.Errorf("got %v, want the restore", got)
	}
}

func TestCacheOptionsRestrictTheCache(t *testing.T) {
	if all := CacheOptions(NewStores()).DefaultNamespaces; all != nil {
		t.Errorf("without a namespace: %v", all)
	}
	if two := CacheOptions(NewStores(), "a", "b").DefaultNamespaces; len(two) != 2 {
		t.Errorf("with two namespaces: %v", two)
	}
	if period := CacheOptions(NewStores()).SyncPeriod; period == nil || *period != 0 {
		t.Error("informers deliver all objects again from time to time")
	}
	for o, by := range CacheOptions(NewStores()).ByObject {
		switch o.(type) {
		case *snapshotv1.VolumeSnapshot:
			if by.Label.String() != v1alpha1.LabelMapKey || by.Transform == nil {
				t.Errorf("snapshots: selector %v", by.Label)
			}
		case *corev1.PersistentVolumeClaim:
			if by.Label != nil || by.Transform == nil {
				t.Errorf("PVCs: selector %v", by.Label)
			}
		}
	}
}

func TestClaimChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		after claimBuilder
		want  bool
	}{
		"nothing":              {claim("data"), false},
		"phase":                {claim("data").phase(corev1.ClaimLost), true},
		"requested-at":         {claim("data").requested(rfc3339(noon)), false},
		"driver":               {claim("data").of("csi.example.com"), true},
		"driver, as of old":    {claim("data").with(func(c *corev1.PersistentVolumeClaim) { annotate(c, annotationBetaProvisioner, "x") }), true},
		"storage class":        {claim("data").with(func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = ptr.To("fast") }), true},
		"exclude":              {claim("data").with(func(c *corev1.PersistentVolumeClaim) { annotate(c, v1alpha1.AnnotationExclude, "") }), true},
		"a finalizer is added": {claim("data").with(func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"x"} }), false},
		"a field in its status": {claim("data").with(func(c *corev1.PersistentVolumeClaim) {
			c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Resizing"}}
		}), false},
	} {
		if got := claimChanged(claim("data").PersistentVolumeClaim, tc.after.PersistentVolumeClaim); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
