// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

const pausedMessage = "the clocks of the API server and the operator differ too much to know the age of snapshots: nothing is deleted"

func setConditions(now time.Time, s *v1alpha1.SnapshotSchedule, from origin, claims, snapshots int, sum combined) {
	notes := remarks(sum) + from.unrecordedText(now, s)
	differs := differsUntil(s, from)
	switch {
	case !differs.IsZero() && !now.Before(differs):
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSpecDiffers, differsMessage(s)+failingText(sum, claims))
	case sum.Failing > 0:
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			strings.TrimPrefix(failingText(sum, claims), "; ")+notes)
	case sum.Refused > 0:
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonRetentionFailing,
			fmt.Sprintf("changes to snapshots are refused or do not finish for %s%s%s",
				pvcs(sum.Refused), report.Example(sum.Refused), first(sum.FirstRefused))+notes)
	case s.Spec.Suspend:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshots are taken; retention continues"+notes)
	case claims == 0:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims, noMatchMessage+notes)
	default:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonScheduled, pvcs(claims)+notes)
	}

	setValid(now, s)
	if sum.Paused {
		setPaused(now, s, metav1.ConditionTrue, v1alpha1.ReasonClockSkew, pausedMessage)
		return
	}
	if reason := sum.KeptForNow.reason(); reason != "" {
		setPaused(now, s, metav1.ConditionTrue, reason, keptMessage(s, from, sum.KeptForNow, snapshots))
		return
	}
	setPaused(now, s, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning, "snapshots are deleted when retention no longer keeps them")
}

// first is a problem as a part of a message, without its command where that does not fit: a part of it helps nobody.
func first(p Problem) string {
	text := p.String()
	if at := strings.LastIndex(text, "kubectl "); at > 0 && len(text) > maxFirst {
		text = strings.TrimRight(text[:at], " :;")
	}
	return report.Text(text, maxFirst)
}

// remarks are what is worth knowing beside the reason.
func remarks(sum combined) string { return waitingText(sum) + retainedText(sum) + skippedText(sum) }

// failingText counts the PVCs that are not backed up as they should be.
func failingText(sum combined, claims int) string {
	i := slices.IndexFunc(sum.Problems, Problem.fails)
	if sum.Failing == 0 || i < 0 {
		return ""
	}
	return fmt.Sprintf("; %d of %s failing%s%s", sum.Failing, pvcs(claims), report.Example(sum.Failing), first(sum.Problems[i]))
}

// differsFor is how long the spec of a child may differ from its template's before it is not ready.
const differsFor = time.Minute

// differsUntil returns when a child is not ready because its spec differs; zero if it does not.
func differsUntil(s *v1alpha1.SnapshotSchedule, from origin) time.Time {
	i := slices.IndexFunc(s.Status.Problems, func(p v1alpha1.Problem) bool { return p.Reason == v1alpha1.ReasonSpecDiffers })
	if from.want == nil || i < 0 {
		return time.Time{}
	}
	return s.Status.Problems[i].SinceTime.Add(differsFor)
}

// WaitingMark is in the message of the condition Ready while snapshots wait until they may be created. The plugin looks for it.
const WaitingMark = " waiting (driver"

// waitingText counts the PVCs that wait.
func waitingText(sum combined) string {
	if sum.Waiting == 0 {
		return ""
	}
	drivers := " "
	if len(sum.WaitingFor) > 1 {
		drivers = "s "
	}
	return fmt.Sprintf(", %d%s%s%s)", sum.Waiting, WaitingMark, drivers, report.List(sum.WaitingFor, maxDrivers))
}

// retainedText counts the PVCs of which deletes free no space.
func retainedText(sum combined) string {
	if sum.Retained == 0 {
		return ""
	}
	return fmt.Sprintf(", %d with a VolumeSnapshotClass that leaves the data of deleted snapshots in the storage", sum.Retained)
}

// skippedText counts the PVCs that cannot be snapshotted now.
func skippedText(sum combined) string {
	if sum.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf(", %d skipped%s%s: %s", sum.Skipped, report.Example(sum.Skipped), sum.FirstSkipped.name(), sum.FirstSkipped.SkipReason)
}

func pvcs(n int) string {
	if n == 1 {
		return "1 PersistentVolumeClaim"
	}
	return fmt.Sprintf("%d PersistentVolumeClaims", n)
}

// setProtected sets the condition Protected.
func setProtected(now time.Time, s *v1alpha1.SnapshotSchedule, c protections) {
	var waits string
	if c.pending > 0 {
		waits = fmt.Sprintf("; the first snapshots of %d more are pending", c.pending)
	}
	status, reason, message := metav1.ConditionUnknown, v1alpha1.ReasonNoMatchingClaims,
		"no selected PersistentVolumeClaim can be snapshotted now"
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
		message = fmt.Sprintf("no selected PersistentVolumeClaim can be snapshotted; for example %s: %s; "+
			"create a VolumeSnapshotClass, or exclude them with storageClassNames, the selector or annotation %s",
			c.first.name(), report.Text(string(c.first.SkipReason), maxFirst), v1alpha1.AnnotationExclude)
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
	case c.due:
		when = "the first are due"
	case !c.firstSlot.IsZero():
		when = "the first is due at " + c.firstSlot.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %s no ready snapshot of this schedule yet; %s", pvcs(c.pending), have, when)
}

func setReady(now time.Time, s *v1alpha1.SnapshotSchedule, status metav1.ConditionStatus, reason, message string) {
	set(now, s, v1alpha1.ConditionReady, status, reason, message)
}

func setPaused(now time.Time, s *v1alpha1.SnapshotSchedule, status metav1.ConditionStatus, reason, message string) {
	set(now, s, v1alpha1.ConditionRetentionPaused, status, reason, message)
}

func setValid(now time.Time, s *v1alpha1.SnapshotSchedule) {
	set(now, s, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonValidSpec, "the spec is valid")
}

func set(now time.Time, s *v1alpha1.SnapshotSchedule, condition string, status metav1.ConditionStatus, reason, message string) {
	report.SetCondition(&s.Status.Conditions, now, s.Status.ObservedGeneration, condition, status, reason, message)
}
