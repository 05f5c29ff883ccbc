// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// The operator has stood still for four days: what it wrote last is green.
//
// Contract: CLI-30.
func TestReportShowsNoStoredGreenBesideAGap(t *testing.T) {
	now := start.Add(100 * time.Hour)
	s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
		&v1alpha1.ClusterSnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}}, v1alpha1.GroupVersion.WithKind("ClusterSnapshotSchedule"))}
	stored := []metav1.Condition{
		{Type: v1alpha1.ConditionProtected, Status: metav1.ConditionTrue, Reason: "Protected", LastTransitionTime: metav1.NewTime(start)},
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Scheduled", LastTransitionTime: metav1.NewTime(start)},
	}
	s.Status.Conditions, s.Status.ObservedGeneration = stored, 1
	inv := &inventory{classes: anyClass, claims: map[string][]client.Object{"shop": {claim}}, snapshots: map[string][]client.Object{
		"shop": {testSnapshot(s, claim, start)}}}
	one, err := reportOn(s, inv, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	one.Status.silent = 94 * time.Hour
	c := clusterReport{Coverage: coverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now), Schedules: []scheduleReport{one}}
	c.Fleets = []fleetReport{{Name: "nightly", Conditions: stored}, {Name: "empty", Conditions: stored}}
	all := &fullReport{Time: *term.TimeOf(now), Until: *term.TimeOf(now.Add(reportAhead)), Clusters: []clusterReport{c}}
	var page bytes.Buffer
	if err := all.writePage(&page); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&page)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range find(root, func(n *html.Node) bool { return attribute(n, "class") == "good" }) {
		t.Errorf("%q is green", textOf(n))
	}
	text := textOf(root)
	for _, words := range []string{
		"0 of 1 PVC protected", "shop/nightly, Not protected: 1 of 1 PVC", "e.g. shop/data: no ready snapshot for a whole slot of nightly",
		"Operator: no sign of life since 3d22h", "no SnapshotSchedule of it selects a PVC", "kubectl snapsched status -n shop nightly",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is missing in\n%s", words, text)
		}
	}
}

// Contract: CLI-30.
func TestEachGapHasWhatToDoAboutIt(t *testing.T) {
	for name, tc := range map[string]struct {
		claim claimCoverage
		want  string
	}{
		"none":                {claimCoverage{Protection: protected}, ""},
		"no schedule":         {claimCoverage{Gap: true, Protection: unprotected}, "kubectl edit snapshotschedules -n shop"},
		"a schedule is late":  {claimCoverage{Gap: true, Protection: stale, Schedules: []string{"a", "b"}}, "kubectl snapsched status -n shop a"},
		"its storage":         {claimCoverage{Gap: true, Protection: skipped, Schedules: []string{"a"}}, "kubectl describe pvc -n shop data"},
		"a rollback":          {claimCoverage{Gap: true, Protection: unprotected, byRollback: true}, "kubectl snapsched rollback -n shop --pvc data --undo"},
		"a name with a space": {claimCoverage{Gap: true, Protection: stale, Schedules: []string{"a b"}}, "status -n shop 'a b'"},
	} {
		tc.claim.Namespace, tc.claim.Name = "shop", "data"
		if got := tc.claim.Remedy(); !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Contract: CLI-30.
func TestReportFailsOnGapsIfItIsAsked(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(term.NewScheme()).WithObjects(testClaim("data", nil)).Build()
	for _, fails := range []bool{false, true} {
		args := []string{"report", "-n", "shop", "-o", "json"}
		if fails {
			args = append(args, "--fail-on-gaps")
		}
		code, printed := runOn(t, c, args...)
		if (code == term.ExitFound) != fails || !strings.Contains(printed, `"gap": true`) {
			t.Errorf("%v ends with %d:\n%s", args, code, printed)
		}
	}
}
