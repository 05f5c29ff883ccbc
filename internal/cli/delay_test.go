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
func TestPreviewTakesDefaultsForNoChange(t *testing.T) {
	manifest := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}
	stored := manifest
	stored.Retention.MinReady, stored.ReadyDeadline, stored.DeletionPolicy = new(int32(1)), "1h", v1alpha1.DeletionDelete
	if !equality.Semantic.DeepEqual(defaulted(manifest), defaulted(stored)) {
		t.Error("defaults are taken for a change")
	}
	stored.Retention.MinReady = new(int32(2))
	if equality.Semantic.DeepEqual(defaulted(manifest), defaulted(stored)) {
		t.Error("a change is taken for none")
	}
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
