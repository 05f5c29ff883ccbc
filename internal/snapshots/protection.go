// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
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
// zero: forever. covered is the newest slot that a ready snapshot covers, of this schedule or of an earlier
// one. The PVC is on the timeline from since; what is older counts by the slots that it would have had before.
func protectionOf(line schedule.Timeline, since, covered time.Time, readyDeadline time.Duration, now time.Time) (protection, time.Time) {
	if !covered.IsZero() {
		earlier := line.Since(covered)
		next, _ := earlier.Next(covered)
		if second, ok := earlier.Next(next); !ok || now.Before(second) {
			return protectionCurrent, second
		}
		if !covered.Before(since) {
			return protectionOld, time.Time{} // its first snapshot was ready: no slot waits for that any more
		}
	}
	first, ok := line.Next(since.Add(-1))
	if until := first.Add(readyDeadline); ok && now.Before(until) {
		return protectionPending, until
	}
	return protectionOld, time.Time{}
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
	case c.unsnapshottable > 0 && c.pending == 0:
		status, reason = metav1.ConditionFalse, v1alpha1.ReasonNotSnapshottable
		message = fmt.Sprintf("no snapshot can be taken of any PersistentVolumeClaim; e.g. %s: %s; "+
			"create a VolumeSnapshotClass, or leave them out with storageClassNames, the selector or annotation %s",
			c.first.name(), report.Text(c.first.SkipReason, maxFirst), v1alpha1.AnnotationExclude)
	case c.pending > 0:
		reason = v1alpha1.ReasonFirstSnapshotsPending
		message = pendingMessage(c)
	}
	set(now, s, v1alpha1.ConditionProtected, status, reason, message)
}

// pendingMessage says when the first snapshots come.
func pendingMessage(c protections) string {
	have := "have"
	if c.pending == 1 {
		have = "has"
	}
	when := "none is due"
	switch {
	case c.taking:
		when = "the first are being taken"
	case !c.firstSlot.IsZero():
		when = "the first is due at " + c.firstSlot.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %s no ready snapshot of this schedule yet; %s", pvcs(c.pending), have, when)
}
