// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// protection is whether a PVC can be restored to a recent slot.
type protection uint8

const (
	// protectionNone: the PVC is skipped or not selected, and does not count.
	protectionNone protection = iota
	// protectionCurrent: a ready snapshot covers the newest slot, or the one before it.
	protectionCurrent
	// protectionPending: no slot of the schedule is covered yet, and the first has not had readyDeadline time.
	protectionPending
	// protectionOld: there is none.
	protectionOld
)

// protectionOf returns whether a PVC is protected, and until when that cannot change by time alone;
// zero: for ever. covered is the newest slot that a ready snapshot covers, of this schedule or of an
// earlier one: one that is older than the anchor covers no slot of the timeline.
func protectionOf(line schedule.Timeline, anchor, covered time.Time, readyDeadline time.Duration, now time.Time) (protection, time.Time) {
	if !covered.IsZero() && !covered.Before(anchor) {
		next, _ := line.Next(covered)
		if second, ok := line.Next(next); !ok || now.Before(second) {
			return protectionCurrent, second
		}
		return protectionOld, time.Time{} // its first snapshot was ready: no slot waits for that any more
	}
	first, ok := line.Next(time.Time{})
	if until := first.Add(readyDeadline); ok && now.Before(until) {
		return protectionPending, until
	}
	return protectionOld, time.Time{}
}

// protections counts the PVCs of a schedule by their protection.
type protections struct {
	current, pending, old int
	// worst is the PVC with the oldest recovery point that is old.
	worst *keyStatus
}

func (c *protections) add(k *keyStatus) {
	for _, part := range k.parts() {
		c.add(&keyStatus{Claim: part.name, RecoveryPoint: part.recoveryPoint, protection: part.protection})
	}
	switch k.protection {
	case protectionNone:
	case protectionCurrent:
		c.current++
	case protectionPending:
		c.pending++
	case protectionOld:
		c.old++
		if w := c.worst; w == nil || k.RecoveryPoint.Before(w.RecoveryPoint) ||
			k.RecoveryPoint.Equal(w.RecoveryPoint) && k.Claim < w.Claim {
			c.worst = k
		}
	}
}

// setProtected sets the condition Protected.
func setProtected(now time.Time, s *v1alpha1.SnapshotSchedule, c protections) {
	var waits string
	if c.pending > 0 {
		waits = fmt.Sprintf("; the first snapshots of %d more are pending", c.pending)
	}
	status, reason, message := metav1.ConditionUnknown, v1alpha1.ReasonNoMatchingClaims,
		"no PersistentVolumeClaim is selected that can be snapshotted now"
	switch {
	case c.old > 0:
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonRecoveryPointsOld
		message = fmt.Sprintf("%s without a ready snapshot of a recent slot; the oldest recovery point is that of %s, %s",
			pvcs(c.old), c.worst.Claim, c.worst.RecoveryPoint.UTC().Format(time.RFC3339)) + waits
	case c.current > 0:
		status, reason = metav1.ConditionTrue, v1alpha1.ReasonRecoveryPointsCurrent
		message = pvcs(c.current) + " with a ready snapshot of a recent slot" + waits
	case c.pending > 0:
		reason = v1alpha1.ReasonFirstSnapshotsPending
		message = fmt.Sprintf("%s without a ready snapshot; the first slot is not due, or younger than readyDeadline", pvcs(c.pending))
	}
	set(now, s, v1alpha1.ConditionProtected, status, reason, message)
}
