// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition sets a condition, with a message that is safe and not too long.
func SetCondition(conditions *[]metav1.Condition, c metav1.Condition) {
	c.Message = Text(c.Message, MaxMessage)
	meta.SetStatusCondition(conditions, c)
}
