// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func TestStatusErrorsOfAnInvalidSpec(t *testing.T) {
	set := func(s *v1alpha1.SnapshotSchedule, kind string, status metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason})
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.SnapshotSchedule)
		want   string
	}{
		"as it should be":    {func(*v1alpha1.SnapshotSchedule) {}, ""},
		"stalled, but valid": {func(s *v1alpha1.SnapshotSchedule) { s.Spec.Jitter = "" }, "condition Stalled"},
		"not stalled": {
			func(s *v1alpha1.SnapshotSchedule) {
				set(s, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonValidSpec)
			},
			"condition Stalled",
		},
		"not paused": {
			func(s *v1alpha1.SnapshotSchedule) {
				set(s, v1alpha1.ConditionRetentionPaused, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning)
			},
			"retention is not paused",
		},
		"paused for another reason": {
			func(s *v1alpha1.SnapshotSchedule) {
				set(s, v1alpha1.ConditionRetentionPaused, metav1.ConditionTrue, v1alpha1.ReasonClockSkew)
			},
			"retention is not paused",
		},
		"old counts": {func(s *v1alpha1.SnapshotSchedule) { s.Status.Inputs = &v1alpha1.Inputs{} }, "status has inputs"},
		"old times":  {func(s *v1alpha1.SnapshotSchedule) { s.Status.LastSnapshotTime = &metav1.Time{Time: noon} }, "status has times"},
		"an old problem": {func(s *v1alpha1.SnapshotSchedule) {
			s.Status.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "data", Reason: v1alpha1.ReasonSnapshotFailed}}
		}, "status has problem SnapshotFailed"},
		"a problem of the schedule itself": {func(s *v1alpha1.SnapshotSchedule) {
			s.Status.Problems = []v1alpha1.Problem{{Reason: v1alpha1.ReasonInvalidRequestedAt}}
		}, ""},
		"old problems beyond ten": {func(s *v1alpha1.SnapshotSchedule) { s.Status.MoreProblems = 1 }, "more problems"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSchedule("every")
			s.Spec.Jitter = "6h" // the interval
			s.Status.ObservedGeneration = 1
			set(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec)
			set(s, v1alpha1.ConditionRetentionPaused, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec)
			tc.change(s)
			got := strings.Join(StatusErrors([]client.Object{s}, noon), "\n")
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
