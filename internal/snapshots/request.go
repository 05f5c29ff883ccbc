// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// scheduleProblem returns the problem of the schedule itself, if it has one: a request that is
// malformed. It is otherwise ignored.
func scheduleProblem(requester client.Object) Problem {
	_, err := v1alpha1.RequestOf(requester.GetAnnotations())
	if err == nil {
		return Problem{}
	}
	return Problem{
		Reason: v1alpha1.ReasonInvalidRequestedAt,
		Message: fmt.Sprintf("annotation %s is \"%s\"; %s",
			v1alpha1.AnnotationRequestedAt, report.Text(requester.GetAnnotations()[v1alpha1.AnnotationRequestedAt], maxExcerpt), err),
	}
}

// maxExcerpt is how many bytes of a user's text a message repeats.
const maxExcerpt = 40
