// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/cli/view/protection"
)

// The operator has stood still for four days: what it wrote last is green.
//
// Contract: CLI-30.
func TestReportShowsNoStoredGreenBesideAGap(t *testing.T) {
	now := clitest.Start.Add(100 * time.Hour)
	s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
	stored := []metav1.Condition{
		{Type: v1alpha1.ConditionProtected, Status: metav1.ConditionTrue, Reason: "Protected", LastTransitionTime: metav1.NewTime(clitest.Start)},
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Scheduled", LastTransitionTime: metav1.NewTime(clitest.Start)},
	}
	s.Status.Conditions, s.Status.ObservedGeneration = stored, 1
	inv := &view.Inventory{Classes: clitest.AnyClass, Claims: map[string][]client.Object{"shop": {claim}}, Snapshots: map[string][]client.Object{
		"shop": {clitest.Snapshot(s, claim, clitest.Start)}}}
	one, err := reportOn(s, inv, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	one.Status.Silent, one.fleet = 94*time.Hour, "nightly"
	c := clusterReport{Coverage: protection.CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now), Schedules: []scheduleReport{one}}
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
		"0 of 1 PVC can go back", "1 cannot.", "shop/nightly, Not protected: 1 of 1 PVC", "e.g. shop/data: no ready snapshot for a whole slot of nightly",
		"Operator: no sign of life since 3d22h", "no SnapshotSchedule of it selects a PVC", "kubectl snapsched status -n shop nightly",
	} {
		if !strings.Contains(text, words) {
			t.Errorf("%q is missing in\n%s", words, text)
		}
	}
}
