// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"unicode/utf8"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// scheduleProblem returns the problem of the schedule itself, if it has one: a request that is
// malformed. It is otherwise ignored.
func scheduleProblem(s *v1alpha1.SnapshotSchedule) Problem {
	_, err := v1alpha1.RequestOf(s.Annotations)
	if err == nil {
		return Problem{}
	}
	return Problem{
		Reason: v1alpha1.ReasonInvalidRequestedAt,
		Message: fmt.Sprintf("annotation %s is %s; %s",
			v1alpha1.AnnotationRequestedAt, excerpt(s.Annotations[v1alpha1.AnnotationRequestedAt]), err),
	}
}

// maxExcerpt is how many characters of a user's text a message repeats.
const maxExcerpt = 40

// excerpt returns the beginning of a text in quotes, escaped: it may be of any length, and
// contain anything.
func excerpt(text string) string {
	quoted := fmt.Sprintf("%.*q", maxExcerpt, text)
	if utf8.RuneCountInString(text) > maxExcerpt {
		quoted += "…"
	}
	return quoted
}
