// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// The operator may have Roles only, where the user may read VolumeSnapshotClasses.
func TestProblemsThatOnlyTheOperatorKnows(t *testing.T) {
	for name, test := range map[string]struct {
		reason   string
		observed int64
		gone     bool // of a PVC that had the name
		want     bool
	}{
		"no class that it may read":                    {reason: v1alpha1.ReasonWrongSnapshotClass, observed: 2, want: true},
		"no class any more":                            {reason: v1alpha1.ReasonNoSnapshotClass, observed: 2, want: true},
		"no default class":                             {reason: v1alpha1.ReasonNoDefaultSnapshotClass, observed: 2, want: true},
		"no class under the spec before":               {reason: v1alpha1.ReasonWrongSnapshotClass, observed: 1},
		"no class, and an earlier PVC of the name":     {reason: v1alpha1.ReasonWrongSnapshotClass, observed: 2, gone: true},
		"a failed create":                              {reason: v1alpha1.ReasonCreateFailed, observed: 1, want: true},
		"a failed create, an earlier PVC of the name":  {reason: v1alpha1.ReasonCreateFailed, observed: 2, gone: true},
		"a collision, and an earlier PVC of the name":  {reason: v1alpha1.ReasonNameCollision, observed: 2, gone: true},
		"a failed delete":                              {reason: v1alpha1.ReasonDeleteFailed, observed: 2, want: true},
		"a failed delete, and an earlier PVC":          {reason: v1alpha1.ReasonDeleteFailed, observed: 2, gone: true, want: true},
		"what its snapshots show, which is judged new": {reason: v1alpha1.ReasonSnapshotOverdue, observed: 2},
	} {
		t.Run(name, func(t *testing.T) {
			now := start.AddDate(0, 0, 30).Add(time.Minute)
			s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
			s.Generation, s.Status.ObservedGeneration = 2, test.observed
			s.Status.Problems = []v1alpha1.Problem{
				{PersistentVolumeClaim: "data", Reason: test.reason, Message: "as the operator says"},
				{PersistentVolumeClaim: "other", Reason: v1alpha1.ReasonNameCollision, Message: "another's"},
			}
			inv := &inventory{claims: map[string][]client.Object{"shop": {claim}}, snapshots: map[string][]client.Object{
				"shop": {testSnapshot(s, claim, now.Truncate(time.Hour))}}}
			if test.gone {
				inv.claims = nil
			}
			want := ""
			if test.want {
				want = test.reason + ": as the operator says"
			}
			row := statusOf(s, inv, now).PersistentVolumeClaims[0]
			if got := row.problemWords(now); got != want {
				t.Errorf("status: %q, want %q", got, want)
			}
			if test.gone {
				return
			}
			refused := test.want && kindsOfProblems[test.reason].refuses
			got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims[0]
			if (got.Protection == unprotected) != refused || (got.Protection == protected) == refused || refused && got.Reason != "nightly: "+want {
				t.Errorf("coverage: %s: %q", got.Protection, got.Reason)
			}
		})
	}
}

// The report is older than what makes the PVC skipped. One whose volume is lost is a gap, one that is not bound yet is none.
//
// Contract: STAT-19.
func TestSkippedPVCIsNoGapWhateverTheOperatorReported(t *testing.T) {
	now := start.AddDate(0, 0, 30)
	s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
	claim.Status.Phase = "Lost"
	s.Status.ObservedGeneration = 1
	s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonWrongSnapshotClass}}
	inv := &inventory{claims: map[string][]client.Object{"shop": {claim}}}
	if got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.gaps() != 1 || got.Claims[0].Protection != skipped {
		t.Errorf("lost: got %s: %s", got.Claims[0].Protection, got.Claims[0].Reason)
	}
	claim.Status.Phase = "Pending"
	if got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.gaps() != 0 || got.Claims[0].Protection != skipped {
		t.Errorf("not bound: got %s: %s", got.Claims[0].Protection, got.Claims[0].Reason)
	}
	claim.Status.Phase, claim.Labels = "Lost", map[string]string{v1alpha1.AnnotationExclude: "true"}
	s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "other"}
	if got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.gaps() != 0 || !strings.Contains(got.Claims[0].Note, "label") {
		t.Errorf("lost, and not selected: got %+v", got.Claims[0])
	}
	claim.Labels, claim.Annotations = nil, map[string]string{v1alpha1.AnnotationExclude: "false"}
	if got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.Claims[0].Protection != excluded || !strings.Contains(got.Claims[0].Note, `"false" excludes it`) {
		t.Errorf("excluded by false: got %+v", got.Claims[0])
	}
}

// The operator has tried to snapshot the PVC, so it is not one that it skips.
func TestReportedRefusalLeavesNothingUnknown(t *testing.T) {
	s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
	claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	s.Status.ObservedGeneration = 1
	s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonNoDefaultSnapshotClass, Message: "two"}}
	inv := &inventory{claims: map[string][]client.Object{"shop": {claim}}}
	got := coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, start).Claims[0]
	if got.Protection != unprotected || got.Reason != "nightly: NoDefaultSnapshotClass: two" {
		t.Errorf("coverage: %s: %s", got.Protection, got.Reason)
	}
	row := statusOf(s, inv, start).PersistentVolumeClaims[0]
	if words := row.problemWords(start); words != "NoDefaultSnapshotClass: two" {
		t.Errorf("status: %s", words)
	}
}

// Contract: STAT-19.
func TestStatusJudgesProtectionLiveAndShowsTheAgeOfConditions(t *testing.T) {
	claim := func(p protection, gap bool) claimStatus {
		return claimStatus{Name: "data", State: stateSelected, Protection: p, Reason: "why", gap: gap}
	}
	long := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Scheduled", Message: "all", LastTransitionTime: metav1.NewTime(start.Add(-2 * time.Hour)),
	}
	stored := metav1.Condition{Type: v1alpha1.ConditionProtected, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRecoveryPointsCurrent, Message: "stored"}
	for want, claims := range map[string][]claimStatus{
		"Protected: 1 of 1 PVC":                                               {claim(protected, false)},
		"Not protected: 1 of 2 PVCs; e.g. data: why":                          {claim(protected, false), claim(stale, true)},
		"Not protected: 1 of 1 PVC; e.g. data: why":                           {claim(skipped, true)},
		"Not protected yet: 1 of 2 PVCs; the first snapshot is not ready yet": {claim(protected, false), claim(pending, false)},
		"Protects nothing: 1 PVC skipped":                                     {claim(skipped, false)},
		"Protects nothing: no PVC matches":                                    {{Name: "old", State: stateGone}},
	} {
		s := scheduleStatus{Observed: true, now: start, Conditions: []metav1.Condition{long, stored}, PersistentVolumeClaims: claims, noMatch: "no PVC matches"}
		if got := strings.Join(s.conditionWords(term.Style{}), "\n"); got != want+"\nReady (Scheduled, for 120m): all" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := scheduleStatus{Observed: true, now: start, Conditions: []metav1.Condition{long}, PersistentVolumeClaims: []claimStatus{claim(stale, true)}, silent: 65 * time.Second}
	if got := strings.Join(s.conditionWords(term.Style{}), "\n"); !strings.Contains(got, "Operator: no sign of life since 65s: kubectl -n snapshotschedule-system get pods,lease") {
		t.Errorf("got %q", got)
	}
}

func TestStatusShowsProblemsOfTheScheduleItself(t *testing.T) {
	s := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
	s.Status.Problems = []v1alpha1.Problem{{Reason: v1alpha1.ReasonInvalidRequestedAt, Message: "no time"}}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	status := statusOf(s, &inventory{}, start)
	if got := strings.Join(status.conditionWords(term.Style{}), "\n"); !strings.Contains(got, "InvalidRequestedAt: no time") {
		t.Errorf("got %s", got)
	}
}
