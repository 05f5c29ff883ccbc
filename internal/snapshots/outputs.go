// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
)

// covers returns whether an existing snapshot was taken for the slot and the PVC, or the
// PVCs, of a desired one. If a user released it, the slot is covered all the same.
func covers(desired, existing client.Object) bool {
	return backup.SlotOf(existing).Equal(backup.SlotOf(desired)) && backup.ClaimName(existing) == backup.ClaimName(desired) &&
		maps.Equal(backup.ClaimsOf(existing), backup.ClaimsOf(desired))
}

// conditions returns whether a snapshot is ready and whether it is being deleted, for the counts in
// status. The results are shared, because every pass asks about every snapshot.
func conditions(o client.Object) []metav1.Condition {
	switch {
	case backup.Ready(o):
		return isReadyCondition
	case backup.Terminating(o):
		return terminatingConditions
	}
	return notReadyCondition
}

// Every pass asks for the condition of every snapshot.
var (
	isReadyCondition  = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	notReadyCondition = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse}}

	terminatingConditions = append(slices.Clone(notReadyCondition), metav1.Condition{Type: "Terminating", Status: metav1.ConditionTrue})
)

// earliest returns the first of some times; a zero one means never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
