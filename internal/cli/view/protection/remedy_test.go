// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package protection

import (
	"strings"
	"testing"
	"time"

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
