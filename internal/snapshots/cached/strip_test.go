// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cached

import (
	"encoding/json"
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
)

const (
	provisioner, betaProvisioner = "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"
	testDriver                   = "csi.example.com"
)

var noon = time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)

func toJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func strip[T any](t *testing.T, transform func(any) (any, error), o T) T {
	t.Helper()
	stripped, err := transform(o)
	if err != nil {
		t.Fatal(err)
	}
	return stripped.(T)
}

// claims returns the transform of PVCs, which shares nothing with another one.
func claims() func(any) (any, error) {
	return Claims([...]string{provisioner, betaProvisioner}, func(name string) bool { return name != "" && name != "no driver" },
		v1alpha1.AnnotationExclude, corev1.BetaStorageClassAnnotation)
}

// schedule is one with a UID.
func schedule() *v1alpha1.SnapshotSchedule {
	s := &v1alpha1.SnapshotSchedule{}
	s.Name, s.Namespace, s.UID = "backup", "shop", "schedule-uid"
	return s
}

// uncut is a snapshot of PVC data without a status, an hour old.
func uncut() *snapshotv1.VolumeSnapshot {
	v := &snapshotv1.VolumeSnapshot{}
	v.Name, v.Namespace, v.UID, v.CreationTimestamp = "s", "shop", "snapshot-uid", metav1.NewTime(noon.Add(-time.Hour))
	v.Labels = map[string]string{v1alpha1.LabelMapKey: "data-uid", v1alpha1.LabelSchedule: "backup"}
	v.Annotations = map[string]string{v1alpha1.AnnotationScheduledAt: "2026-06-15T11:00:00Z"}
	v.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(schedule(), v1alpha1.GroupVersion.WithKind("SnapshotSchedule"))}
	v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
	return v
}

// full returns a snapshot with every field that one has on a real cluster.
func full() *snapshotv1.VolumeSnapshot {
	v, size := uncut(), resource.MustParse("1Gi")
	v.ResourceVersion, v.Generation, v.Labels["tier"] = "42", 2, "gold"
	v.Annotations["note"], v.Annotations[v1alpha1.AnnotationHold] = "ours", ""
	v.Finalizers = []string{"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"}
	v.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	v.OwnerReferences = append([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: "other-uid"}}, v.OwnerReferences...)
	v.Spec.VolumeSnapshotClassName = ptr.To("fast")
	v.Status = &snapshotv1.VolumeSnapshotStatus{
		CreationTime: ptr.To(metav1.NewTime(noon.Add(-time.Hour))), ReadyToUse: ptr.To(true), RestoreSize: &size,
		BoundVolumeSnapshotContentName: ptr.To("content"),
		Error:                          &snapshotv1.VolumeSnapshotError{Time: ptr.To(metav1.NewTime(noon.Add(-time.Minute))), Message: ptr.To("driver is away")},
	}
	return v
}

func TestStripSnapshotKeepsWhatDecisionsRead(t *testing.T) {
	whole := full()
	stripped := strip(t, Snapshots(), whole.DeepCopy())
	before, after := backup.Of(whole), backup.Of(stripped)
	if before != after || before.HeldUntil != retention.Forever || !before.HasError || before.ErrorTime.IsZero() || !before.HasCutTime {
		t.Errorf("decisions see %+v, of the whole %+v", after, before)
	}
	if backup.ClaimName(stripped) != "data" || !backup.SlotOf(stripped).Equal(backup.SlotOf(whole)) || !backup.ReadyToUse(stripped) {
		t.Error("PVC, slot or readiness are missing")
	}
	for what, pair := range map[string][2]any{
		"UID":             {whole.UID, stripped.UID},
		"resourceVersion": {whole.ResourceVersion, stripped.ResourceVersion},
		"owners":          {whole.OwnerReferences, stripped.OwnerReferences},
		"map key":         {whole.Labels[v1alpha1.LabelMapKey], stripped.Labels[v1alpha1.LabelMapKey]},
		"schedule":        {whole.Labels[v1alpha1.LabelSchedule], stripped.Labels[v1alpha1.LabelSchedule]},
	} {
		if toJSON(pair[0]) != toJSON(pair[1]) {
			t.Errorf("%s is %s, was %s", what, toJSON(pair[1]), toJSON(pair[0]))
		}
	}
}

// Contract: STAT-9.
func TestStripScheduleTakesAStatusThatWasNeverWrittenAsEmpty(t *testing.T) {
	s := schedule()
	s.Status = v1alpha1.SnapshotScheduleStatus{ObservedGeneration: -1}
	if got := strip(t, Schedule, s).Status; toJSON(got) != toJSON(v1alpha1.SnapshotScheduleStatus{}) {
		t.Errorf("it is %s, want an empty one", toJSON(got))
	}
	s.Status.ObservedGeneration = 3
	if got := strip(t, Schedule, s).Status.ObservedGeneration; got != 3 {
		t.Errorf("of another, observedGeneration is %d, want 3", got)
	}
}

func TestStripSnapshotDropsTheRest(t *testing.T) {
	const want = `{"metadata":{"name":"s","generateName":"2026-06-15T11:00:00Z","namespace":"shop","uid":"snapshot-uid","resourceVersion":"42","generation":2,` +
		`"creationTimestamp":"2026-06-15T11:00:00Z",` +
		`"labels":{"snapshots.mapcontroller.dev/map-key":"data-uid","snapshots.mapcontroller.dev/schedule":"backup"},` +
		`"annotations":{"snapshots.mapcontroller.dev/hold":""},` +
		`"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":"other-uid"},` +
		`{"apiVersion":"snapshots.mapcontroller.dev/v1alpha1","kind":"SnapshotSchedule","name":"backup","uid":"schedule-uid",` +
		`"controller":true,"blockOwnerDeletion":true}]},"spec":{"source":{"persistentVolumeClaimName":"data"},"volumeSnapshotClassName":"fast"},` +
		`"status":{"creationTime":"2026-06-15T11:00:00Z","readyToUse":true,"error":{"time":"2026-06-15T11:59:00Z"}}}`
	if got := toJSON(strip(t, Snapshots(), full())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// What cannot be the name of an object, or a time, takes no memory, and decisions read
// the same of it in the cache as on the API server.
func TestStripBoundsWhatNoSchemaBounds(t *testing.T) {
	for name, length := range map[string]int{"names that can exist": maxName, "longer ones": maxName + 1} {
		t.Run(name, func(t *testing.T) {
			text, kept := strings.Repeat("x", length), length <= maxName
			own, imported := uncut(), uncut()
			own.Spec.VolumeSnapshotClassName, own.Spec.Source.PersistentVolumeClaimName = &text, &text
			imported.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: &text}
			for _, v := range []*snapshotv1.VolumeSnapshot{own, imported} {
				v.Annotations[v1alpha1.AnnotationScheduledAt] = noon.Format("2006-01-02T15:04:05.") + strings.Repeat("0", 30) + "Z"
				cached := strip(t, Snapshots(), v.DeepCopy())
				if got := strings.Contains(toJSON(cached), text); got != kept {
					t.Errorf("kept: %v, want %v: %s", got, kept, toJSON(cached))
				}
				before, after := backup.Of(v), backup.Of(cached)
				if before != after || !before.ScheduledAt.IsZero() || (backup.ClaimName(v) == "") != (backup.ClaimName(cached) == "") {
					t.Errorf("decisions see %+v, of the whole %+v", after, before)
				}
			}
		})
	}
}

func TestStripScheduleDropsWhatKubectlAndTheAPIServerAdd(t *testing.T) {
	s := schedule()
	s.Labels, s.Annotations = map[string]string{"team": "a"}, map[string]string{"note": "ours", v1alpha1.AnnotationRequestedAt: "2026-06-15T12:00:00Z"}
	want := toJSON(s)
	s.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	if got := toJSON(strip(t, Schedule, s)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// An informer may transform an object that was transformed before.
func TestStrippingTwiceChangesNothing(t *testing.T) {
	once := strip(t, Snapshots(), full())
	want := toJSON(once)
	if got := toJSON(strip(t, Snapshots(), once)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{provisioner: testDriver}}}
	claim.Spec.StorageClassName = ptr.To("fast")
	cached := strip(t, claims(), claim)
	want = toJSON(cached)
	if got := toJSON(strip(t, claims(), cached)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestStripLeavesOtherTypesUnchanged(t *testing.T) {
	for name, transform := range map[string]func(any) (any, error){
		"snapshots": Snapshots(), "PVCs": claims(), "schedules": Schedule, "classes": Class(),
	} {
		for _, o := range []any{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}, "tombstone"} {
			want := toJSON(o)
			if got, err := transform(o); got != o || err != nil || toJSON(got) != want {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
	}
	bare := strip(t, Snapshots(), &snapshotv1.VolumeSnapshot{})
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
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stripped := strip(t, Snapshots(), full())
	orphan := stripped.DeepCopy()
	orphan.OwnerReferences = stripped.OwnerReferences[:1]
	adopted := orphan.DeepCopy()
	if err := controllerutil.SetControllerReference(schedule(), adopted, scheme); err != nil {
		t.Fatal(err)
	}
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
	c := &corev1.PersistentVolumeClaim{}
	c.Name, c.Namespace, c.UID, c.ResourceVersion, c.Status.Phase = "data", "shop", "data-uid", "42", corev1.ClaimBound
	c.Labels, c.DeletionTimestamp = map[string]string{"app": "shop"}, &metav1.Time{Time: noon}
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: "x", UID: "x", Controller: ptr.To(true)}}
	c.Annotations = map[string]string{
		v1alpha1.AnnotationExclude: "x", provisioner: "x", betaProvisioner: "x", corev1.BetaStorageClassAnnotation: "x",
	}
	c.Spec = corev1.PersistentVolumeClaimSpec{
		StorageClassName: ptr.To("fast"), VolumeName: "pv",
		DataSource:    &corev1.TypedLocalObjectReference{APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: "s"},
		DataSourceRef: &corev1.TypedObjectReference{APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: "s", Namespace: ptr.To("other")},
	}
	want := toJSON(c)
	c.Annotations["note"] = "ours"
	c.Annotations[v1alpha1.AnnotationRequestedAt] = "2026-06-15T12:00:00Z" // ignored, as is any other
	c.Finalizers = []string{"kubernetes.io/pvc-protection"}
	c.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: "Resizing"}}
	if got := toJSON(strip(t, claims(), c.DeepCopy())); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.Annotations = map[string]string{provisioner: "no driver"}
	c.Spec.VolumeName = strings.Repeat("x", maxName+1)
	if got := strip(t, claims(), c); got.Annotations != nil || got.Spec.VolumeName != "" {
		t.Errorf("of what no name can be, it keeps %s", toJSON(got))
	}
}

func TestStripClassKeepsWhatDecisionsRead(t *testing.T) {
	class := &snapshotv1.VolumeSnapshotClass{Driver: testDriver, DeletionPolicy: snapshotv1.VolumeSnapshotContentRetain}
	class.Name, class.ResourceVersion, class.Annotations = "fast", "42", map[string]string{"default": "true"}
	want := toJSON(class)
	class.Annotations["note"] = "ours"
	class.Labels, class.Finalizers = map[string]string{"a": "b"}, []string{"x"}
	class.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	class.OwnerReferences = uncut().OwnerReferences
	class.Parameters = map[string]string{"a": "b"}
	if got := toJSON(strip(t, Class("default"), class)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
