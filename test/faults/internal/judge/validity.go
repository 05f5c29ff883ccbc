// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// validityErrors returns where a status contradicts the validity of the spec. While the spec is invalid, Stalled and RetentionPaused say
// so, and what depends on the spec is absent. Otherwise Stalled is not true, and the counts are there.
func validityErrors(s *v1alpha1.SnapshotSchedule, invalid error) []string {
	var wrong []string
	expect := func(holds bool, what string) {
		if !holds {
			wrong = append(wrong, fmt.Sprintf("%s: %s, and the spec is invalid: %t", s.Name, what, invalid != nil))
		}
	}
	status := &s.Status
	stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled)
	expect(stalled != nil && (stalled.Status == metav1.ConditionTrue) == (invalid != nil), "condition Stalled is absent or wrong")
	if invalid == nil {
		expect(status.Inputs != nil && status.Detached != nil, "status.inputs or status.detached is absent")
		return wrong
	}
	paused := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRetentionPaused)
	expect(paused != nil && paused.Status == metav1.ConditionTrue && paused.Reason == v1alpha1.ReasonInvalidSpec, "retention is not paused for that")
	expect(status.Inputs == nil && status.Detached == nil, "status has inputs or detached ones")
	expect(status.LastSnapshotTime == nil && status.NextSnapshotTime == nil && status.OldestRecoveryPointTime == nil, "status has times")
	for _, p := range status.Problems {
		expect(p.Reason == v1alpha1.ReasonInvalidRequestedAt && p.PersistentVolumeClaim == "", "status has problem "+p.Reason)
	}
	expect(status.MoreProblems == 0, "status has more problems")
	return wrong
}
