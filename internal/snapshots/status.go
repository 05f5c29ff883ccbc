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

const pausedMessage = "the API server's clock and the manager's differ too much to know the age of snapshots: nothing is deleted"

// setStatus computes a schedule's status. It is pure. It returns what the PVCs add
// up to, which is nothing where the spec is invalid or a kind is missing.
func setStatus(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary) combined {
	if known.Settled {
		s.Status.ObservedGeneration = s.Generation
	}
	switch {
	case known.Invalid != nil:
		s.Status.NextSnapshotTime = nil
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, truncate(known.Invalid.Error()))
		return combined{}
	case len(known.Missing) > 0:
		s.Status.NextSnapshotTime = nil
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing,
			"not installed in this cluster: "+strings.Join(known.Missing, ", "))
		return combined{}
	}
	var ofSchedule []Problem
	if p := scheduleProblem(s); p.Reason != "" {
		ofSchedule = append(ofSchedule, p)
	}
	sum := combine(known.Keys, ofSchedule...)
	setCounts(&s.Status, known.Totals)
	s.Status.LastSnapshotTime = timeOf(sum.LastSnapshot)
	s.Status.OldestRecoveryPoint = timeOf(sum.RecoveryPoint)
	s.Status.NextSnapshotTime = nil
	if !s.Spec.Suspend {
		s.Status.NextSnapshotTime = timeOf(sum.NextSlot)
	}
	s.Status.Problems = problems(now, s.Status.Problems, sum.Problems)
	s.Status.MoreProblems = count(sum.MoreProblems)
	setConditions(now, s, known.Totals[claimsTotal], sum)
	return sum
}

// count converts a number of objects to the API's type.
func count(n int) int32 {
	return int32(n) //nolint:gosec // etcd holds far fewer than 2^31 objects
}

// scheduleProblem returns the problem of the schedule itself, if it has one.
func scheduleProblem(s *v1alpha1.SnapshotSchedule) Problem {
	_, malformed := requestedAt(s)
	malformed.Message = truncate(malformed.Message)
	return malformed
}

func setCounts(status *v1alpha1.SnapshotScheduleStatus, totals map[string]int) {
	status.Inputs.PersistentVolumeClaims.Total = count(totals[claimsTotal])
	status.Outputs.VolumeSnapshots.Total = count(totals[snapshotsTotal])
	status.Outputs.VolumeSnapshots.Ready = count(totals[snapshotsReady])
	status.Detached.MapKeys = count(totals[detachedKeys])
	status.Detached.VolumeSnapshots = count(totals[detachedSnapshots])
}

// The counts of status are the engine's, under the same paths.
const (
	claimsTotal       = "inputs." + claimsResource + ".total"
	snapshotsTotal    = "outputs." + snapshotsResource + ".total"
	snapshotsReady    = "outputs." + snapshotsResource + ".ready"
	detachedKeys      = "detached.mapKeys"
	detachedSnapshots = "detached." + snapshotsResource
)

func setConditions(now time.Time, s *v1alpha1.SnapshotSchedule, claims int, sum combined) {
	switch {
	case sum.Failing > 0:
		worst := sum.Problems[0]
		first := fmt.Sprintf("%s: %s: %s", worst.Claim, worst.Reason, worst.Message)
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			fmt.Sprintf("%d of %s failing; first %s", sum.Failing, pvcs(claims), first)+skippedText(sum))
	case s.Spec.Suspend:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshots are taken; retention continues"+skippedText(sum))
	case claims == 0:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims,
			"spec.selector matches no PersistentVolumeClaim of this namespace"+skippedText(sum))
	default:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonScheduled, pvcs(claims)+skippedText(sum))
	}

	paused := metav1.Condition{
		Type:    v1alpha1.ConditionRetentionPaused,
		Status:  metav1.ConditionFalse,
		Reason:  v1alpha1.ReasonRetentionRunning,
		Message: "snapshots are deleted when retention no longer keeps them",
	}
	if sum.Paused {
		paused.Status, paused.Reason, paused.Message = metav1.ConditionTrue, v1alpha1.ReasonClockSkew, pausedMessage
	}
	set(now, s, paused)
}

// skippedText counts the PVCs that can't be snapshotted now.
func skippedText(sum combined) string {
	if sum.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf(", %d skipped; first %s: %s", sum.Skipped, sum.FirstSkipped.Claim, sum.FirstSkipped.SkipReason)
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

// problems keeps the time since which a problem is known, from the status entry of
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
