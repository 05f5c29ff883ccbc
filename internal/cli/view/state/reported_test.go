// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
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
			now := clitest.Start.AddDate(0, 0, 30).Add(time.Minute)
			s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
			s.Generation, s.Status.ObservedGeneration = 2, test.observed
			s.Status.Problems = []v1alpha1.Problem{
				{PersistentVolumeClaim: "data", Reason: test.reason, Message: "as the operator says"},
				{PersistentVolumeClaim: "other", Reason: v1alpha1.ReasonNameCollision, Message: "another's"},
			}
			inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {claim}}, Snapshots: map[string][]client.Object{
				"shop": {clitest.Snapshot(s, claim, now.Truncate(time.Hour))}}}
			if test.gone {
				inv.Claims = nil
			}
			want := ""
			if test.want {
				want = test.reason + ": as the operator says"
			}
			row := StatusOf(s, inv, now).PersistentVolumeClaims[0]
			if got := row.ProblemWords(now); got != want {
				t.Errorf("status: %q, want %q", got, want)
			}
			if test.gone {
				return
			}
			refused := test.want && view.KindsOfProblems[test.reason].Refuses
			got := protection.CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now).Claims[0]
			if (got.Protection == protection.Unprotected) != refused || (got.Protection == protection.Protected) == refused || refused && got.Reason != "nightly: "+want {
				t.Errorf("coverage: %s: %q", got.Protection, got.Reason)
			}
		})
	}
}

// The operator has tried to snapshot the PVC, so it is not one that it skips.
func TestReportedRefusalLeavesNothingUnknown(t *testing.T) {
	s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
	claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	s.Status.ObservedGeneration = 1
	s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonNoDefaultSnapshotClass, Message: "two"}}
	inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {claim}}}
	got := protection.CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, clitest.Start).Claims[0]
	if got.Protection != protection.Unprotected || got.Reason != "nightly: NoDefaultSnapshotClass: two" {
		t.Errorf("coverage: %s: %s", got.Protection, got.Reason)
	}
	row := StatusOf(s, inv, clitest.Start).PersistentVolumeClaims[0]
	if words := row.ProblemWords(clitest.Start); words != "NoDefaultSnapshotClass: two" {
		t.Errorf("status: %s", words)
	}
}

// Contract: STAT-19.
func TestStatusJudgesProtectionLiveAndShowsTheAgeOfConditions(t *testing.T) {
	claim := func(p protection.Protection, gap bool) ClaimStatus {
		return ClaimStatus{Name: "data", State: view.StateSelected, Protection: p, Reason: "why", gap: gap}
	}
	long := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Scheduled", Message: "all", LastTransitionTime: metav1.NewTime(clitest.Start.Add(-2 * time.Hour)),
	}
	stored := metav1.Condition{Type: v1alpha1.ConditionProtected, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRecoveryPointsCurrent, Message: "stored"}
	for want, claims := range map[string][]ClaimStatus{
		"Protected: 1 of 1 PVC":                                               {claim(protection.Protected, false)},
		"Not protected: 1 of 2 PVCs; e.g. data: why":                          {claim(protection.Protected, false), claim(protection.Stale, true)},
		"Not protected: 1 of 1 PVC; e.g. data: why":                           {claim(protection.Skipped, true)},
		"Not protected yet: 1 of 2 PVCs; the first snapshot is not ready yet": {claim(protection.Protected, false), claim(protection.Pending, false)},
		"Protects nothing: 1 PVC skipped":                                     {claim(protection.Skipped, false)},
		"Protects nothing: no PVC matches":                                    {{Name: "old", State: view.StateGone}},
	} {
		s := ScheduleStatus{Observed: true, now: clitest.Start, Conditions: []metav1.Condition{long, stored}, PersistentVolumeClaims: claims, NoMatch: "no PVC matches"}
		if got := strings.Join(s.ConditionWords(term.Style{}), "\n"); got != want+"\nReady (Scheduled, for 120m): all" {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := ScheduleStatus{Observed: true, now: clitest.Start, Conditions: []metav1.Condition{long}, PersistentVolumeClaims: []ClaimStatus{claim(protection.Stale, true)}, Silent: 65 * time.Second}
	if got := strings.Join(s.ConditionWords(term.Style{}), "\n"); !strings.Contains(got, "Operator: no sign of life since 65s: kubectl -n snapshotschedule-system get pods,lease") {
		t.Errorf("got %q", got)
	}
}

func TestStatusShowsProblemsOfTheScheduleItself(t *testing.T) {
	s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
	s.Status.Problems = []v1alpha1.Problem{{Reason: v1alpha1.ReasonInvalidRequestedAt, Message: "no time"}}
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	status := StatusOf(s, &view.Inventory{}, clitest.Start)
	if got := strings.Join(status.ConditionWords(term.Style{}), "\n"); !strings.Contains(got, "InvalidRequestedAt: no time") {
		t.Errorf("got %s", got)
	}
}
