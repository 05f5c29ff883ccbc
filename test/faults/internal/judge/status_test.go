// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func TestStatusErrorsOfAnInvalidSpec(t *testing.T) {
	type schedule = v1alpha1.SnapshotSchedule
	problem := func(claim, reason string) func(*schedule) {
		return func(s *schedule) {
			s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: claim, Reason: reason}}
		}
	}
	for name, tc := range map[string]struct {
		change func(*schedule)
		want   string
	}{
		"as it should be":           {func(*schedule) {}, ""},
		"not stalled":               {func(s *schedule) { s.Status.Conditions[0].Status = metav1.ConditionFalse }, "condition Stalled"},
		"not paused":                {func(s *schedule) { s.Status.Conditions[1].Status = metav1.ConditionFalse }, "retention is not paused"},
		"paused for another reason": {func(s *schedule) { s.Status.Conditions[1].Reason = "" }, "retention is not paused"},
		"old counts":                {func(s *schedule) { s.Status.Inputs = &v1alpha1.Inputs{} }, "Inputs:"},
		"old times":                 {func(s *schedule) { s.Status.NextSnapshotTime = &metav1.Time{Time: noon} }, "NextSnapshotTime:"},
		"an old problem":            {problem("data", v1alpha1.ReasonSnapshotFailed), "SnapshotFailed"},
		"a problem of its own":      {problem("", v1alpha1.ReasonInvalidRequestedAt), ""},
		"old problems beyond ten":   {func(s *schedule) { s.Status.MoreProblems = 1 }, "MoreProblems:"},
		"stalled, but valid": {func(s *schedule) {
			s.Spec.Jitter, s.Status.Inputs, s.Status.Detached = "", &v1alpha1.Inputs{}, &v1alpha1.Detached{}
		}, "condition Stalled"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSchedule("every")
			s.Spec.Jitter = "6h" // the interval
			s.Status.ObservedGeneration = 1
			s.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInvalidSpec},
				{Type: v1alpha1.ConditionRetentionPaused, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInvalidSpec},
				{Type: v1alpha1.ConditionProtected, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNoMatchingClaims},
			}
			tc.change(s)
			found := StatusErrors([]client.Object{s}, noon)
			if (tc.want == "") != (len(found) == 0) || len(found) > 1 || !strings.Contains(strings.Join(found, ""), tc.want) {
				t.Errorf("found %q, want %q", found, tc.want)
			}
		})
	}
}
