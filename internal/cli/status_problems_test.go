// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// ofConditions are the reasons of conditions and events, which are not in status.problems.
var ofConditions = []string{
	v1alpha1.ReasonScheduled, v1alpha1.ReasonSuspended, v1alpha1.ReasonNoMatchingClaims, v1alpha1.ReasonInvalidSpec,
	v1alpha1.ReasonSnapshotsFailing, v1alpha1.ReasonRetentionFailing, v1alpha1.ReasonSnapshotAPIMissing, v1alpha1.ReasonReconciling,
	v1alpha1.ReasonRecoveryPointsCurrent, v1alpha1.ReasonRecoveryPointsOld, v1alpha1.ReasonFirstSnapshotsPending, v1alpha1.ReasonValidSpec,
	v1alpha1.ReasonClockSkew, v1alpha1.ReasonSpecChanged, v1alpha1.ReasonSnapshotsAdopted, v1alpha1.ReasonRetentionRunning,
	v1alpha1.ReasonRetentionPaused, v1alpha1.ReasonNotSnapshottable,
}

func TestEveryReasonOfTheAPIIsOfAProblemOrOfACondition(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		declared[reason] = true
		if _, isProblem := kindsOfProblems[reason]; isProblem == slices.Contains(ofConditions, reason) {
			t.Errorf("%s: of a problem: %v, and of a condition: %v", reason, isProblem, !isProblem)
		}
		return true
	})
	for reason := range kindsOfProblems {
		if !declared[reason] {
			t.Errorf("the API declares no %s", reason)
		}
	}
}

// Contract: STAT-19.
func TestAReportedProblemIsShownWithItsAgeIfOnlyTheOperatorKnowsIt(t *testing.T) {
	now := start.AddDate(0, 0, 30).Add(time.Minute)
	for reason, want := range map[string]string{
		v1alpha1.ReasonInternalError:      "InternalError (for 5m): as reported",
		v1alpha1.ReasonSnapshotError:      "SnapshotError (for 5m): as reported",
		v1alpha1.ReasonVolumeLimit:        "VolumeLimit (for 5m): as reported",
		"OfALaterOperator":                "OfALaterOperator (for 5m): as reported",
		v1alpha1.ReasonGroupStopped:       "",
		v1alpha1.ReasonClaimLost:          "",
		v1alpha1.ReasonDeletionStuck:      "",
		v1alpha1.ReasonSnapshotKeepsClaim: "",
		v1alpha1.ReasonRestorePending:     "",
		v1alpha1.ReasonGroupIncomplete:    "",
	} {
		t.Run(reason, func(t *testing.T) {
			s, claim := testSchedule("nightly", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}), testClaim("data", nil)
			s.Status.ObservedGeneration = s.Generation
			s.Status.Problems = []v1alpha1.Problem{{
				PersistentVolumeClaim: "data", Reason: reason, Message: "as reported", SinceTime: metav1.NewTime(now.Add(-5 * time.Minute)),
			}}
			inv := &inventory{claims: map[string][]client.Object{"shop": {claim}}, snapshots: map[string][]client.Object{
				"shop": {testSnapshot(s, claim, now.Truncate(time.Hour))}}}
			if got := statusOf(s, inv, now).PersistentVolumeClaims[0].problemWords(now); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
