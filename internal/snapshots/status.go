// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

const (
	claimsResource    = "persistentvolumeclaims"
	snapshotsResource = "volumesnapshots"
)

const pausedMessage = "the API server's clock and the manager's differ too much to know the age of snapshots: nothing is deleted"

// invalidMessage is for the conditions other than Ready, whose message has the error.
const invalidMessage = "the spec is invalid: no snapshot is taken or deleted until it is fixed"

// setStatusOf computes a schedule's status. It is pure. It returns what the PVCs add
// up to, which is nothing where the spec is invalid or a kind is missing.
func setStatusOf(now time.Time, s *v1alpha1.SnapshotSchedule, from origin, known mapcontroller.Summary) combined {
	if known.Settled {
		s.Status.ObservedGeneration = s.Generation
	}
	if !known.ServerTime.IsZero() {
		s.Status.Retention = recordOf(s, from, known.ServerTime)
	}
	var ofSchedule []Problem
	if p := scheduleProblem(from.requester(s)); p.Reason != "" {
		ofSchedule = append(ofSchedule, p)
	}
	sum := combine(known.Keys, ofSchedule...)
	// Without the record nothing is deleted, and nothing else would report that.
	sum.Paused = sum.Paused || known.ServerTime.IsZero() && sum.Spared.reason() != "" && recordsTime(now, s, from)
	s.Status.Problems = problems(now, s.Status.Problems, sum.Problems)
	s.Status.MoreProblems = count(sum.MoreProblems)
	s.Status.Outputs.VolumeSnapshots.Total = count(known.Totals[snapshotsTotal])
	s.Status.Outputs.VolumeSnapshots.Ready = count(known.Totals[snapshotsReady])
	switch {
	case known.Invalid != nil:
		setUnknown(&s.Status)
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, truncate(known.Invalid.Error()))
		set(now, s, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec, invalidMessage)
		setPaused(now, s, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec, invalidMessage)
		return combined{}
	case len(known.Missing) > 0:
		setUnknown(&s.Status)
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing,
			"not installed in this cluster: "+strings.Join(known.Missing, ", "))
		setValid(now, s)
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionRetentionPaused)
		return combined{}
	}
	s.Status.Inputs = &v1alpha1.Inputs{PersistentVolumeClaims: v1alpha1.InputCount{
		Total: count(known.Totals[claimsTotal]), Skipped: count(sum.Skipped),
	}}
	s.Status.Detached = &v1alpha1.Detached{
		MapKeys: count(known.Totals[detachedKeys]), VolumeSnapshots: count(known.Totals[detachedSnapshots]),
	}
	s.Status.LastSnapshotTime = timeOf(sum.LastSnapshot)
	s.Status.OldestRecoveryPointTime = timeOf(sum.RecoveryPoint)
	s.Status.NextSnapshotTime = nil
	if !s.Spec.Suspend {
		s.Status.NextSnapshotTime = timeOf(sum.NextSlot)
	}
	sum.Spared = sum.Spared.unconfirmed(s, from)
	setConditions(now, s, from, known.Totals[claimsTotal], known.Totals[snapshotsTotal], sum)
	return sum
}

// setUnknown removes what cannot be known while no decisions are made: the old values
// were computed for another generation. The counts of outputs do not depend on the spec.
func setUnknown(status *v1alpha1.SnapshotScheduleStatus) {
	status.Inputs, status.Detached = nil, nil
	status.LastSnapshotTime, status.NextSnapshotTime, status.OldestRecoveryPointTime = nil, nil, nil
}

// count converts a number of objects to the API's type.
func count(n int) int32 {
	return int32(n) //nolint:gosec // etcd holds far fewer than 2^31 objects
}

// scheduleProblem returns the problem of the schedule itself, if it has one.
func scheduleProblem(requester client.Object) Problem {
	_, malformed := requestedAt(requester)
	malformed.Message = truncate(malformed.Message)
	return malformed
}

// The counts of status are the engine's, under the same paths.
const (
	claimsTotal       = "inputs." + claimsResource + ".total"
	snapshotsTotal    = "outputs." + snapshotsResource + ".total"
	snapshotsReady    = "outputs." + snapshotsResource + ".ready"
	detachedKeys      = "detached.mapKeys"
	detachedSnapshots = "detached." + snapshotsResource
)

func setConditions(now time.Time, s *v1alpha1.SnapshotSchedule, from origin, claims, snapshots int, sum combined) {
	switch {
	case sum.Failing > 0:
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotsFailing,
			fmt.Sprintf("%d of %s failing; first %s", sum.Failing, pvcs(claims), sum.Problems[0])+remarks(sum))
	case sum.Refused > 0:
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonRetentionFailing,
			fmt.Sprintf("changes to snapshots are refused for %s; first %s", pvcs(sum.Refused), sum.FirstRefused)+remarks(sum))
	case s.Spec.Suspend:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonSuspended,
			"spec.suspend is true: no snapshots are taken; retention continues"+remarks(sum))
	case claims == 0:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonNoMatchingClaims,
			"the spec selects no PersistentVolumeClaim of this namespace"+remarks(sum))
	default:
		setReady(now, s, metav1.ConditionTrue, v1alpha1.ReasonScheduled, pvcs(claims)+remarks(sum))
	}

	setValid(now, s)
	if sum.Paused {
		setPaused(now, s, metav1.ConditionTrue, v1alpha1.ReasonClockSkew, pausedMessage)
		return
	}
	if reason := sum.Spared.reason(); reason != "" {
		setPaused(now, s, metav1.ConditionTrue, reason, sparedMessage(s, from, sum.Spared, snapshots))
		return
	}
	setPaused(now, s, metav1.ConditionFalse, v1alpha1.ReasonRetentionRunning, "snapshots are deleted when retention no longer keeps them")
}

// remarks are what is worth knowing beside the reason.
func remarks(sum combined) string { return waitingText(sum) + skippedText(sum) }

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
	set(now, s, v1alpha1.ConditionReady, status, reason, message)
}

func setPaused(now time.Time, s *v1alpha1.SnapshotSchedule, status metav1.ConditionStatus, reason, message string) {
	set(now, s, v1alpha1.ConditionRetentionPaused, status, reason, message)
}

func setValid(now time.Time, s *v1alpha1.SnapshotSchedule) {
	set(now, s, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonValidSpec, "the spec is valid")
}

func set(now time.Time, s *v1alpha1.SnapshotSchedule, condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(now),
	})
}

// problems keeps the time since which a problem is known, from the status entry of
// the same PVC and reason.
func problems(now time.Time, before []v1alpha1.Problem, found []Problem) []v1alpha1.Problem {
	since := map[Problem]metav1.Time{}
	for _, p := range before {
		since[Problem{Claim: p.PersistentVolumeClaim, Reason: p.Reason}] = p.SinceTime
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
			SinceTime:             first,
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
