// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// scheduleProblem returns the problem of the schedule itself, if it has one: a request that is
// malformed, or that counts for nothing. It is otherwise ignored.
func scheduleProblem(s *v1alpha1.SnapshotSchedule, from origin) Problem {
	requester := from.requester(s)
	if _, err := v1alpha1.RequestOf(requester.GetAnnotations()); err != nil {
		return Problem{
			Reason: v1alpha1.ReasonInvalidRequestedAt,
			Message: fmt.Sprintf("annotation %s is \"%s\"; %s",
				v1alpha1.AnnotationRequestedAt, report.Text(requester.GetAnnotations()[v1alpha1.AnnotationRequestedAt], maxExcerpt), err),
		}
	}
	if at, requested := s.Annotations[v1alpha1.AnnotationRequestedAt]; !requested || !from.owned || controlledByFleet(s) ||
		at == requester.GetAnnotations()[v1alpha1.AnnotationRequestedAt] {
		return Problem{} // a child may have an older request of its ClusterSnapshotSchedule
	}
	return Problem{
		Reason: v1alpha1.ReasonInvalidRequestedAt,
		Message: fmt.Sprintf("annotation %s counts for nothing: ClusterSnapshotSchedule %s owns this schedule, and only its requests count here",
			v1alpha1.AnnotationRequestedAt, s.Name),
	}
}

// maxExcerpt is how many bytes of a user's text a message repeats.
const maxExcerpt = 40
