// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/manifests"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/ahead"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Contract: EDIT-1, EDIT-4.
func TestPreviewSaysWhatADelayKeeps(t *testing.T) {
	s := clitest.NewScenario()
	present, stricter := clitest.Delayed(s)
	confirmed := stricter.DeepCopy()
	confirmed.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "3"}
	young := s.Tiers.DeepCopy()
	young.CreationTimestamp = metav1.NewTime(s.Now.Add(-time.Minute))
	confirmedYoung := young.DeepCopy()
	confirmedYoung.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: strconv.FormatInt(young.Generation, 10)}
	child := confirmed.DeepCopy()
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&v1alpha1.ClusterSnapshotSchedule{},
		v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	youngChild := young.DeepCopy()
	youngChild.OwnerReferences = child.OwnerReferences
	for name, test := range map[string]struct {
		change ahead.Variants
		found  bool
		now    int
		want   string
	}{
		"an edit": {ahead.Variants{Present: present, Future: stricter}, true, 0, "38 snapshots would be deleted at once, and would wait until 2026-01-31T02:20:00Z, because " +
			"the spec changes (spec.retention.editDelay): annotation snapshots.mapcontroller.dev/confirm-generation=3 confirms it"},
		"no edit":                      {ahead.Variants{Present: present, Future: present}, true, 0, ""},
		"a confirmed edit":             {ahead.Variants{Present: present, Future: confirmed}, true, 38, ""},
		"a schedule's name":            {ahead.Variants{Present: nil, Future: young}, true, 0, "because they are older than the schedule: annotation"},
		"a schedule's name, confirmed": {ahead.Variants{Present: nil, Future: confirmedYoung}, true, 33, ""},
		"a child's edit": {ahead.Variants{Present: present, Future: child}, true, 0, "because the spec changes (spec.retention.editDelay): annotation " +
			"snapshots.mapcontroller.dev/confirm-generation of ClusterSnapshotSchedule tiers confirms its template, in all namespaces"},
		"a child's name": {ahead.Variants{Present: nil, Future: youngChild}, true, 0, "because they are older than the schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := func(s *v1alpha1.SnapshotSchedule, at time.Time) *v1alpha1.SnapshotSchedule {
				if s == nil {
					return nil
				}
				return snapshots.Recorded(s, at)
			}
			change := ahead.Variants{Present: recorded(test.change.Present, s.Now), Future: recorded(test.change.Future, s.Now)}
			if test.change.Present == test.change.Future {
				change.Future = change.Present
			}
			p := previewed(t, s, change)
			now := 0
			for _, c := range p.Claims {
				now += c.Now
			}
			warnings := strings.Join(p.Warnings, "\n")
			if now != test.now || !strings.Contains(warnings, test.want) || test.want == "" && strings.Contains(warnings, "wait until") {
				t.Errorf("%d deleted now, want %d; warnings:\n%s\nwant %s", now, test.now, warnings, test.want)
			}
			if len(p.Deletes) == 0 && test.found {
				t.Error("nothing is deleted within the time")
			}
		})
	}
}

// Contract: FLEET-10.
func TestPreviewSaysThatAChildWithAnotherSpecDeletesNothing(t *testing.T) {
	s := clitest.NewScenario()
	present, stricter := clitest.Delayed(s)
	parent, namespace := snapshots.OriginNames(present)
	parent.Spec.Template.Spec = present.Spec
	s.Inv.Origins = view.OriginsOf(present, []client.Object{parent, namespace}) // which selects it
	change := ahead.Variants{Present: present, Future: stricter}.Recorded(s.Now, s.Inv.Origins.Of(present))
	p := previewed(t, s, change)
	warnings := strings.Join(p.Warnings, "\n")
	want := "38 snapshots would be deleted at once, and would be kept, because the spec differs from the template of " +
		"ClusterSnapshotSchedule tiers"
	if len(p.Deletes) > 0 || len(p.Waiting) != 1 || p.Waiting[0].Until != nil || !strings.Contains(warnings, want) {
		t.Errorf("%d deletes; waiting: %+v; warnings:\n%s", len(p.Deletes), p.Waiting, warnings)
	}
}

// writtenAs returns a schedule with a spec as it is written.
func writtenAs(t *testing.T, spec string) manifests.Document {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte("kind: SnapshotSchedule\nspec: " + spec))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	d, err := manifests.Of(o, true)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The suite in test/cli compares the same with a real API server.
//
// Contract: API-2.
func TestPreviewCountsGenerationsAsTheAPIServerDoes(t *testing.T) {
	const defaults = "{snapshotInterval: 6h, readyDeadline: 1h, suspend: false, retention: {minReady: 1, detached: {minReady: 0}}}"
	for name, test := range map[string]struct {
		stored, manifest string
		edited           bool
	}{
		"defaults are left out":      {defaults, "{snapshotInterval: 6h}", false},
		"some defaults are left out": {defaults, "{snapshotInterval: 6h, retention: {detached: {}}}", false},
		"defaults are null":          {defaults, "{snapshotInterval: 6h, readyDeadline: null, retention: {minReady: null}}", false},
		"another value":              {defaults, "{snapshotInterval: 6h, retention: {minReady: 2}}", true},
		"another value inside":       {defaults, "{snapshotInterval: 6h, retention: {detached: {minReady: 2}}}", true},
		"what unset means":           {defaults, "{snapshotInterval: 6h, deletionPolicy: Delete}", true},
		"an empty object is new":     {defaults, "{snapshotInterval: 6h, retention: {keep: {}}}", true},
		"an empty object is gone":    {"{snapshotInterval: 6h, selector: {}}", "{snapshotInterval: 6h}", true},
		"the same empty object":      {"{snapshotInterval: 6h, selector: {}}", "{snapshotInterval: 6h, selector: {}}", false},
		"an empty spec":              {defaults, "{}", true},
		"no spec":                    {defaults, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			present := writtenAs(t, test.stored)
			present.Schedule.Generation = 1
			if got := editedBy(writtenAs(t, test.manifest), present).Future.Generation; (got == 2) != test.edited || got > 2 {
				t.Errorf("generation %d, edited is %v", got, test.edited)
			}
		})
	}
}

// Contract: EDIT-3.
func TestPreviewTakesAnnotationsOfTheManifest(t *testing.T) {
	s := clitest.NewScenario()
	present, stricter := clitest.Delayed(s)
	present.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: "2026-01-01T00:00:00Z", "note": "theirs"}
	manifest := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: stricter.Name}, Spec: stricter.Spec}
	manifest.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "3", v1alpha1.AnnotationRequestedAt: "2026-01-31T00:10:00Z"}
	future := editedBy(manifests.Document{Schedule: manifest}, manifests.Document{Schedule: present, Spec: map[string]any{"snapshotTTL": "10d"}}).Future
	for key, want := range map[string]string{
		v1alpha1.AnnotationConfirmGeneration: "3", v1alpha1.AnnotationRequestedAt: "2026-01-31T00:10:00Z", "note": "theirs",
	} {
		if got := future.Annotations[key]; got != want {
			t.Errorf("annotation %s is %q, want %q", key, got, want)
		}
	}
	if len(present.Annotations) != 2 {
		t.Errorf("the present schedule has annotations %v", present.Annotations)
	}
	p := previewed(t, s, ahead.Variants{Present: snapshots.Recorded(present, s.Now), Future: snapshots.Recorded(future, s.Now)})
	if len(p.Waiting) > 0 || len(p.Deletes) == 0 || !p.Deletes[0].Now {
		t.Errorf("a confirmed edit: waiting %v, deletes %v", p.Waiting, p.Deletes)
	}
}

// A manifest may come from a backup, with the status of another schedule.
//
// Contract: EDIT-4.
func TestPreviewOfANewScheduleIgnoresTheStatusOfItsManifest(t *testing.T) {
	now := clitest.Start.AddDate(0, 0, 30)
	manifest := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"})
	manifest.Annotations = map[string]string{"note": "ours"}
	want := createdFrom(manifests.Document{Schedule: manifest}, now)
	manifest.Status.Retention = &v1alpha1.RetentionRecord{Generation: 7, SinceTime: metav1.NewTime(clitest.Start), EditDelay: "10d"}
	manifest.DeletionTimestamp = &manifest.CreationTimestamp
	got := createdFrom(manifests.Document{Schedule: manifest}, now)
	if !equality.Semantic.DeepEqual(got, want) || got.Annotations["note"] != "ours" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
