// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

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
	file, err := parser.ParseFile(token.NewFileSet(), "../../../api/v1alpha1/conditions.go", nil, 0)
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
		if _, isProblem := KindsOfProblems[reason]; isProblem == slices.Contains(ofConditions, reason) {
			t.Errorf("%s: of a problem: %v, and of a condition: %v", reason, isProblem, !isProblem)
		}
		return true
	})
	for reason := range KindsOfProblems {
		if !declared[reason] {
			t.Errorf("the API declares no %s", reason)
		}
	}
}
