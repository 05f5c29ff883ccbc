// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Contract: CLI-30.
func TestEachGapHasWhatToDoAboutIt(t *testing.T) {
	for name, tc := range map[string]struct {
		claim ClaimCoverage
		want  string
	}{
		"none":                {ClaimCoverage{Protection: Protected}, ""},
		"no schedule":         {ClaimCoverage{Gap: true, Protection: Unprotected}, "kubectl edit snapshotschedules -n shop"},
		"a schedule is late":  {ClaimCoverage{Gap: true, Protection: Stale, Schedules: []string{"a", "b"}}, "kubectl snapsched status -n shop a"},
		"its storage":         {ClaimCoverage{Gap: true, Protection: Skipped, Schedules: []string{"a"}}, "kubectl describe pvc -n shop data"},
		"a rollback":          {ClaimCoverage{Gap: true, Protection: Unprotected, byRollback: true}, "kubectl snapsched rollback -n shop --pvc data --undo"},
		"a name with a space": {ClaimCoverage{Gap: true, Protection: Stale, Schedules: []string{"a b"}}, "status -n shop 'a b'"},
	} {
		tc.claim.Namespace, tc.claim.Name = "shop", "data"
		if got := tc.claim.Remedy(); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Contract: CLI-30.
func TestAPVCWithoutAScheduleIsToldTheLabelsOfOne(t *testing.T) {
	type selected = map[string]v1alpha1.LabelValue
	byLabels := func(name string, want selected, changes ...func(*v1alpha1.SnapshotScheduleSpec)) *v1alpha1.SnapshotSchedule {
		spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", Selector: v1alpha1.LabelSelector{MatchLabels: want}}
		for _, change := range changes {
			change(&spec)
		}
		return clitest.Schedule(name, spec)
	}
	inGroups := func(s *v1alpha1.SnapshotScheduleSpec) { s.Group = &v1alpha1.Group{} }
	suspended := func(s *v1alpha1.SnapshotScheduleSpec) { s.Suspend = true }
	invalid := func(s *v1alpha1.SnapshotScheduleSpec) { s.SnapshotInterval, s.Schedule = "", "0 0 30 2 *" }
	onFast := func(s *v1alpha1.SnapshotScheduleSpec) { s.StorageClassNames = []v1alpha1.StorageClassName{"fast"} }
	one, gold, two := selected{"app": "db"}, selected{"tier": "gold"}, selected{"app": "db", "tier": "gold"}
	nightly, weekly, deleted := byLabels("nightly", two), byLabels("weekly", one), byLabels("weekly", one)
	deleted.DeletionTimestamp = &metav1.Time{Time: clitest.Start}
	const label, none = "kubectl label pvc -n shop data 'app=db' 'tier=gold'", "kubectl edit snapshotschedules -n shop"
	type all []*v1alpha1.SnapshotSchedule
	for name, tc := range map[string]struct {
		schedules all
		labels    map[string]string
		want      string
	}{
		"all of them":                          {all{nightly}, nil, "that the schedule nightly selects, or exclude it: " + label},
		"those that it lacks":                  {all{nightly}, map[string]string{"app": "db"}, "kubectl label pvc -n shop data 'tier=gold'"},
		"not another value":                    {all{nightly}, map[string]string{"app": "web"}, none},
		"not one that takes none":              {all{byLabels("nightly", two, suspended)}, nil, none},
		"not of another storage class":         {all{byLabels("nightly", two, onFast)}, nil, none},
		"not of a group":                       {all{byLabels("nightly", two, inGroups)}, nil, none},
		"all that it joins":                    {all{nightly, weekly}, nil, "that the schedules nightly, weekly select, or exclude it: " + label},
		"not into a group as well":             {all{nightly, byLabels("weekly", one, inGroups)}, nil, none},
		"beside a group that it does not join": {all{nightly, byLabels("weekly", one, inGroups, onFast)}, nil, label},
		"not into one that is suspended":       {all{nightly, byLabels("weekly", one, suspended)}, nil, none},
		"not into one that is being deleted":   {all{nightly, deleted}, nil, none},
		"not into one that is invalid":         {all{nightly, byLabels("weekly", one, invalid)}, nil, none},
		"the labels of the next": {
			all{byLabels("mirror", gold, inGroups), nightly, weekly}, nil,
			"that the schedule weekly selects, or exclude it: kubectl label pvc -n shop data 'app=db'",
		},
	} {
		inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{"shop": {clitest.Claim("data", tc.labels)}}}
		got := CoverageOf(tc.schedules, inv, clitest.Start.Add(time.Hour))
		if remedy := got.Claims[0].Remedy(); !strings.HasSuffix(remedy, tc.want) {
			t.Errorf("%s: %q, want %q", name, remedy, tc.want)
		}
	}
}

func TestSchedulesThatTakeNoSnapshotAreMarked(t *testing.T) {
	valid := clitest.Schedule("a", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
	invalid := clitest.Schedule("b", v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"})
	suspended := clitest.Schedule("c", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", Suspend: true})
	inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{"shop": {clitest.Claim("data", nil)}}}
	got := CoverageOf([]*v1alpha1.SnapshotSchedule{valid, invalid, suspended}, inv, clitest.Start.Add(time.Hour))
	if words := got.Claims[0].ScheduleWords(); words != "a,b (invalid),c (suspended)" {
		t.Errorf("got %q", words)
	}
}

// Contract: BACK-7.
func TestAPVCThatOnlyARollbackExcludesIsAGap(t *testing.T) {
	now := clitest.Start.Add(time.Hour)
	s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
	claim.Annotations = map[string]string{v1alpha1.AnnotationExclude: snapshots.ExcludedByRollback + "0123abcd"}
	inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{"shop": {claim}}}
	got := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now)
	if c := got.Claims[0]; !c.Gap || c.Protection != Unprotected || !strings.Contains(c.Reason, "rollback 0123abcd is unfinished") || got.Gaps() != 1 {
		t.Errorf("got %+v", c)
	}
}
