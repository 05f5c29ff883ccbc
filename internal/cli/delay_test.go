// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// delayed returns the scenario's schedule with tiers, with a delay whose record is old,
// and the same with a stricter spec.
func delayed(s *scenario) (present, stricter *v1alpha1.SnapshotSchedule) {
	present = s.tiers.DeepCopy()
	present.Generation = 2
	present.Spec.Retention.EditDelay = "2h"
	present.Spec.Retention.Keep = v1alpha1.Keep{Last: 100}
	present.Status.Retention = &v1alpha1.RetentionRecord{Generation: 2, SinceTime: metav1.NewTime(s.now.Add(-day)), EditDelay: "2h"}
	stricter = present.DeepCopy()
	stricter.Generation = 3
	stricter.Spec.Retention = v1alpha1.Retention{Keep: v1alpha1.Keep{Last: 2}}
	return present, stricter
}

// Contract: EDIT-1, EDIT-4.
func TestPreviewSaysWhatADelayKeeps(t *testing.T) {
	s := newScenario()
	present, stricter := delayed(s)
	confirmed := stricter.DeepCopy()
	confirmed.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "3"}
	young := s.tiers.DeepCopy()
	young.CreationTimestamp = metav1.NewTime(s.now.Add(-time.Minute))
	for name, test := range map[string]struct {
		change variants
		found  bool
		now    int
		want   string
	}{
		"an edit": {variants{present, stricter}, true, 0, "38 snapshots would be deleted at once, and would wait until 2026-01-31T02:20:00Z, because " +
			"the spec changes (spec.retention.editDelay): annotation snapshots.mapcontroller.dev/confirm-generation=3 confirms it"},
		"no edit":           {variants{present, present}, true, 0, ""},
		"a confirmed edit":  {variants{present, confirmed}, true, 38, ""},
		"a schedule's name": {variants{nil, young}, true, 0, "because they are older than the schedule"},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := func(s *v1alpha1.SnapshotSchedule, at time.Time) *v1alpha1.SnapshotSchedule {
				if s == nil {
					return nil
				}
				return snapshots.Recorded(s, at)
			}
			change := variants{recorded(test.change.present, s.now), recorded(test.change.future, s.now)}
			if test.change.present == test.change.future {
				change.future = change.present
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

// Contract: API-2.
func TestPreviewCountsGenerationsAsTheAPIServerDoes(t *testing.T) {
	stored := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{
		SnapshotInterval: "6h", ReadyDeadline: "1h", Retention: v1alpha1.Retention{MinReady: new(int32(1))},
	})
	for name, test := range map[string]struct {
		edit func(*v1alpha1.SnapshotSchedule)
		want int64
	}{
		"defaults are left out": {func(s *v1alpha1.SnapshotSchedule) { s.Spec.ReadyDeadline, s.Spec.Retention.MinReady = "", nil }, 1},
		"metadata":              {func(s *v1alpha1.SnapshotSchedule) { s.Annotations = map[string]string{"note": "ours"} }, 1},
		"another value":         {func(s *v1alpha1.SnapshotSchedule) { s.Spec.Retention.MinReady = new(int32(2)) }, 2},
		"what unset means":      {func(s *v1alpha1.SnapshotSchedule) { s.Spec.DeletionPolicy = v1alpha1.DeletionDelete }, 2},
	} {
		manifest := stored.DeepCopy()
		test.edit(manifest)
		if got := editedBy(manifest, stored).Generation; got != test.want {
			t.Errorf("%s: generation %d, want %d", name, got, test.want)
		}
	}
}

// Contract: EDIT-3.
func TestPreviewTakesAnnotationsOfTheManifest(t *testing.T) {
	s := newScenario()
	present, stricter := delayed(s)
	present.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: "2026-01-01T00:00:00Z", "note": "theirs"}
	manifest := &v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: stricter.Name}, Spec: stricter.Spec}
	manifest.Annotations = map[string]string{v1alpha1.AnnotationConfirmGeneration: "3", v1alpha1.AnnotationRequestedAt: "2026-01-31T00:10:00Z"}
	future := editedBy(manifest, present)
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
	p := previewed(t, s, variants{snapshots.Recorded(present, s.now), snapshots.Recorded(future, s.now)})
	if len(p.Waiting) > 0 || len(p.Deletes) == 0 || !p.Deletes[0].Now {
		t.Errorf("a confirmed edit: waiting %v, deletes %v", p.Waiting, p.Deletes)
	}
}

// A manifest may come from a backup, with the status of another schedule.
//
// Contract: EDIT-4.
func TestPreviewOfANewScheduleIgnoresTheStatusOfItsManifest(t *testing.T) {
	now := start.AddDate(0, 0, 30)
	manifest := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "1d"})
	manifest.Annotations = map[string]string{"note": "ours"}
	want := createdFrom(manifest, now)
	manifest.Status.Retention = &v1alpha1.RetentionRecord{Generation: 7, SinceTime: metav1.NewTime(start), EditDelay: "10d"}
	manifest.DeletionTimestamp = &manifest.CreationTimestamp
	got := createdFrom(manifest, now)
	if !equality.Semantic.DeepEqual(got, want) || got.Annotations["note"] != "ours" {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Contract: EDIT-1.
func TestTimelineShowsWhatADelayKeeps(t *testing.T) {
	s := newScenario()
	_, stricter := delayed(s)
	line, err := timelineOf(stricter, s.inv, "db-0", s.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range line.Rows[0].Snapshots {
		want := m.verdict.String()
		if m.verdict.Delete() {
			want = v1alpha1.ReasonSpecChanged
		}
		if m.Verdict != want {
			t.Errorf("%s: %s, want %s", m.Name, m.Verdict, want)
		}
	}
	golden(t, func(b *bytes.Buffer) error { return line.draw(b, Style{}, 80, s.now) }, `
shop/tiers: every 6h of PVCs with app=db, last: 2

PVC     2w       1w    4d       2d     1d    12h   6h   2h now        NEXT COUNT
db-0  H······~~~~~~~~~~~~~~~~~~~·~~·~·~·~··~···~····l·······l·  5h40m, 11h    41

~ to be deleted after a delay  l last  H held
`)
}

// Contract: EDIT-1.
func TestWhyNamesTheDelay(t *testing.T) {
	s := newScenario()
	_, stricter := delayed(s)
	judge, err := snapshots.NewJudge(scheme, stricter, anyClass)
	if err != nil {
		t.Fatal(err)
	}
	o := s.inv.seriesOf(stricter, judge.Selects)[0].snapshots[10]
	r := &whyResult{Namespace: "shop", Name: o.GetName(), Schedule: "tiers"}
	r.judgeUnder(stricter, s.inv, o.GetLabels()[v1alpha1.LabelMapKey], s.now)
	golden(t, func(b *bytes.Buffer) error { return printWhy(b, &Output{}, r, s.now) }, `
shop/db-0-20260128120000
  Schedule tiers, PVC db-0
  Taken for 2026-01-28T12:00:00Z, 2d12h ago; Ready

FROM                   IN     VERDICT   RULE          BECAUSE
2026-01-31T00:20:00Z   now    kept      SpecChanged   the spec changed, and spec.retention.editDelay has not passed; otherwise NotSelected: no tier selects it
2026-01-31T02:20:00Z   120m   deleted   NotSelected   no tier selects it
`)
}
