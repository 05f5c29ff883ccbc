// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

func TestRefusedSaysWhyNoSnapshotIsTaken(t *testing.T) {
	claim := clitest.Claim("data", nil)
	claim.Annotations = map[string]string{"volume.kubernetes.io/storage-provisioner": "block.example.com"}
	named := v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassName: new("fast")}
	listed := v1alpha1.SnapshotTemplateSpec{VolumeSnapshotClassNames: []v1alpha1.SnapshotClassName{"fast"}}
	block := snapshots.Classes{Known: true, All: []client.Object{&snapshotv1.VolumeSnapshotClass{Driver: "block.example.com"}}}
	for name, test := range map[string]struct {
		template v1alpha1.SnapshotTemplateSpec
		classes  snapshots.Classes
		want     string
	}{
		"the user may not read classes, one named":   {named, snapshots.Classes{}, ""},
		"the user may not read classes, some listed": {listed, snapshots.Classes{}, ""},
		"no class of the driver":                     {named, snapshots.Classes{Known: true}, v1alpha1.ReasonWrongSnapshotClass},
		"another class than the one named":           {named, block, v1alpha1.ReasonWrongSnapshotClass},
		"another class than those listed":            {listed, block, v1alpha1.ReasonWrongSnapshotClass},
	} {
		s := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
		s.Spec.SnapshotTemplate.Spec = test.template
		judge, err := snapshots.NewJudge(term.Scheme, s, test.classes)
		if err != nil {
			t.Fatal(err)
		}
		if got := judge.Refused(claim); !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// The report is older than what makes the PVC skipped. One whose volume is lost is a gap, one that is not bound yet is none.
//
// Contract: STAT-19.
func TestSkippedPVCIsNoGapWhateverTheOperatorReported(t *testing.T) {
	now := clitest.Start.AddDate(0, 0, 30)
	s, claim := clitest.Schedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), clitest.Claim("data", nil)
	claim.Status.Phase = "Lost"
	s.Status.ObservedGeneration = 1
	s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonWrongSnapshotClass}}
	inv := &view.Inventory{Claims: map[string][]client.Object{"shop": {claim}}}
	if got := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.Gaps() != 1 || got.Claims[0].Protection != Skipped {
		t.Errorf("lost: got %s: %s", got.Claims[0].Protection, got.Claims[0].Reason)
	}
	claim.Status.Phase = "Pending"
	if got := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.Gaps() != 0 || got.Claims[0].Protection != Skipped {
		t.Errorf("not bound: got %s: %s", got.Claims[0].Protection, got.Claims[0].Reason)
	}
	claim.Status.Phase, claim.Labels = "Lost", map[string]string{v1alpha1.AnnotationExclude: "true"}
	s.Spec.Selector.MatchLabels = map[string]v1alpha1.LabelValue{"app": "other"}
	if got := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.Gaps() != 0 || !strings.Contains(got.Claims[0].Note, "label") {
		t.Errorf("lost, and not selected: got %+v", got.Claims[0])
	}
	claim.Labels, claim.Annotations = nil, map[string]string{v1alpha1.AnnotationExclude: "false"}
	if got := CoverageOf([]*v1alpha1.SnapshotSchedule{s}, inv, now); got.Claims[0].Protection != Excluded || !strings.Contains(got.Claims[0].Note, `"false" excludes it`) {
		t.Errorf("excluded by false: got %+v", got.Claims[0])
	}
}

func TestWhatMayBeSaidOfAllPVCs(t *testing.T) {
	claim := func(is Protection) ClaimCoverage { return ClaimCoverage{Protection: is, Gap: is == Stale} }
	unread := []UnreadCluster{{Cluster: "lost"}}
	for name, tc := range map[string]struct {
		c    Coverage
		want Verdict
	}{
		"nothing":                   {Coverage{}, NoGaps},
		"all are protected":         {Coverage{Claims: []ClaimCoverage{claim(Protected), claim(Excluded), claim(Skipped)}}, NoGaps},
		"one waits":                 {Coverage{Claims: []ClaimCoverage{claim(Protected), claim(Pending)}}, Waiting},
		"one is unknown":            {Coverage{Claims: []ClaimCoverage{claim(Unknown)}}, Waiting},
		"a cluster is lost":         {Coverage{Claims: []ClaimCoverage{claim(Pending)}, Unread: unread}, NotRead},
		"a gap, and a lost cluster": {Coverage{Claims: []ClaimCoverage{claim(Stale)}, Unread: unread}, HasGaps},
		"a gap, and one that waits": {Coverage{Claims: []ClaimCoverage{claim(Pending), claim(Stale)}}, HasGaps},
	} {
		if got := tc.c.Verdict(); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// Contract: CLI-58.
func TestEachClusterHasItsOwnTime(t *testing.T) {
	eu, us := clitest.Start, clitest.Start.Add(24*time.Hour)
	several := &Coverage{nows: map[string]time.Time{"eu": eu, "us": us}}
	if !several.NowIn("eu").Equal(eu) || !several.NowIn("us").Equal(us) || !(&Coverage{Now: eu}).NowIn("").Equal(eu) {
		t.Error("a cluster has the time of another")
	}
}
