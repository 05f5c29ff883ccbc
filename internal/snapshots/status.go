// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const (
	claimsResource    = "persistentvolumeclaims"
	snapshotsResource = "volumesnapshots"
)

const pausedMessage = "the API server's clock and the manager's differ too much to tell the age of snapshots: nothing is deleted"

// setStatus works out a schedule's status. It is pure.
func setStatus(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Situation[Note]) {
	if known.Settled {
		s.Status.ObservedGeneration = s.Generation
	}
	switch {
	case known.Invalid != nil:
		s.Status.NextSnapshotTime = nil
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, brief(known.Invalid.Error()))
		return
	case len(known.Missing) > 0:
		s.Status.NextSnapshotTime = nil
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing,
			"not installed in this cluster: "+strings.Join(known.Missing, ", "))
		return
	}
	note := merge(known.Note, Note{Problems: scheduleProblems(s)})
	setCounts(&s.Status, known.Totals)
	s.Status.LastSnapshotTime = timeOf(note.LastSnapshot)
	s.Status.OldestRecoveryPoint = timeOf(note.RecoveryPoint)
	s.Status.NextSnapshotTime = nil
	if !s.Spec.Suspend {
		s.Status.NextSnapshotTime = timeOf(note.NextSlot)
	}
	s.Status.Problems = problems(now, s.Status.Problems, note.Problems)
	s.Status.MoreProblems = count(note.MoreProblems)
	setConditions(now, s, known.Totals.Inputs[claimsResource], note)
}

// count is a number of objects as the API has it.
func count(n int) int32 {
	return int32(n) //nolint:gosec // etcd holds far fewer than 2^31 objects
}

// scheduleProblems are those that no PVC has a part in.
func scheduleProblems(s *v1alpha1.SnapshotSchedule) []Problem {
	if _, malformed := requestedAt(s); malformed.Reason != "" {
		malformed.Message = brief(malformed.Message)
		return []Problem{malformed}
	}
	return nil
}

func setCounts(status *v1alpha1.SnapshotScheduleStatus, totals *mapcontroller.Totals) {
	snapshots := totals.Outputs[snapshotsResource]
	status.Inputs.PersistentVolumeClaims.Total = count(totals.Inputs[claimsResource])
	status.Outputs.VolumeSnapshots.Total = count(snapshots["total"])
	status.Outputs.VolumeSnapshots.Ready = count(snapshots[readyCount])
	status.Detached.MapKeys = count(totals.DetachedKeys)
	status.Detached.VolumeSnapshots = count(totals.DetachedOutputs[snapshotsResource])
}

func setConditions(now time.Time, s *v1alpha1.SnapshotSchedule, claims int, note Note) {
	switch {
	case note.Failing > 0:
		worst := note.Problems[0]
		first := fmt.Sprintf("%s: %s: %s", worst.Claim, worst.Reason, worst.Message)
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			fmt.Sprintf("%d of %s failing; first %s", note.Failing, pvcs(claims), first)+skippedText(note))
	case s.Spec.Suspend:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshot is taken, retention goes on"+skippedText(note))
	case claims == 0:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims,
			"spec.selector matches no PersistentVolumeClaim of this namespace"+skippedText(note))
	default:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonScheduled, pvcs(claims)+skippedText(note))
	}

	paused := metav1.Condition{
		Type:    v1alpha1.ConditionRetentionPaused,
		Status:  metav1.ConditionFalse,
		Reason:  v1alpha1.ReasonRetentionRunning,
		Message: "snapshots are deleted when retention no longer keeps them",
	}
	if note.Paused {
		paused.Status, paused.Reason, paused.Message = metav1.ConditionTrue, v1alpha1.ReasonClockSkew, pausedMessage
	}
	set(now, s, paused)
}

// skippedText counts the PVCs that can't be snapshotted now.
func skippedText(note Note) string {
	if note.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf(", %d skipped; first %s: %s", note.Skipped, note.FirstSkipped.Claim, note.FirstSkipped.Why)
}

func pvcs(n int) string {
	if n == 1 {
		return "1 PersistentVolumeClaim"
	}
	return fmt.Sprintf("%d PersistentVolumeClaims", n)
}

func setReady(now time.Time, s *v1alpha1.SnapshotSchedule, status metav1.ConditionStatus, reason, message string) {
	set(now, s, metav1.Condition{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message})
}

func set(now time.Time, s *v1alpha1.SnapshotSchedule, c metav1.Condition) {
	c.ObservedGeneration = s.Status.ObservedGeneration
	c.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&s.Status.Conditions, c)
}

// problems carries over since when a problem is known from the status entry of
// the same PVC and reason.
func problems(now time.Time, before []v1alpha1.Problem, found []Problem) []v1alpha1.Problem {
	since := map[Problem]metav1.Time{}
	for _, p := range before {
		since[Problem{Claim: p.PersistentVolumeClaim, Reason: p.Reason}] = p.Since
	}
	var all []v1alpha1.Problem
	for _, p := range found {
		first, known := since[Problem{Claim: p.Claim, Reason: p.Reason}]
		if !known {
			first = metav1.NewTime(now).Rfc3339Copy()
		}
		all = append(all, v1alpha1.Problem{
			PersistentVolumeClaim: p.Claim,
			Reason:                p.Reason,
			Message:               p.Message,
			Since:                 first,
		})
	}
	return all
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	rounded := metav1.NewTime(t).Rfc3339Copy()
	return &rounded
}
