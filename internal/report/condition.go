// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MaxProblems is how many problems a status lists.
	MaxProblems = 10
	// MaxProblem is how many bytes the message of each may have, so that an event or a condition that embeds it has at most MaxMessage.
	MaxProblem = 700
)

// SetCondition sets a condition of a status that is about a generation of the spec.
func SetCondition(
	all *[]metav1.Condition, now time.Time, generation int64, kind string, status metav1.ConditionStatus, reason, message string,
) {
	meta.SetStatusCondition(all, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: Text(message, MaxMessage),
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

// RefusedMessage takes the place of every message while the API server refuses them.
const RefusedMessage = "the API server refuses this status as invalid; the log of the operator says why"

// RefusedConditions takes the messages away while the API server refuses the status.
func RefusedConditions(all []metav1.Condition) {
	for i := range all {
		all[i].Message = RefusedMessage
	}
}
