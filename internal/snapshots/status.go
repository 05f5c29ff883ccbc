// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

const (
	claimsResource    = "persistentvolumeclaims"
	snapshotsResource = "volumesnapshots"
	groupsResource    = "volumegroupsnapshots"
)

// invalidMessage is for the conditions other than Ready, whose message has the error.
const invalidMessage = "the spec is invalid: no snapshot is taken or deleted until it is fixed"

// reconcilingMessage is that of a schedule of which nothing is known yet.
const reconcilingMessage = "the operator has not reconciled every PersistentVolumeClaim yet"

// setStatusOf computes a schedule's status. It is pure. It returns what the PVCs add
// up to, which is nothing where that is not known: then what the API server has stays.
func setStatusOf(now time.Time, s *v1alpha1.SnapshotSchedule, from origin, known mapcontroller.Summary) combined {
	sum := setKnown(now, s, from, known)
	if known.Refused {
		report.RefusedConditions(s.Status.Conditions)
	}
	return sum
}

func setKnown(now time.Time, s *v1alpha1.SnapshotSchedule, from origin, known mapcontroller.Summary) combined {
	// The status has group counts, but group snapshots can no longer be listed.
	blind := known.Unseen && s.Spec.Group != nil && s.Status.Outputs.VolumeGroupSnapshots != nil
	if known.Settled && !blind {
		s.Status.ObservedGeneration = s.Generation
	}
	setRecord(s, from, known)
	if known.Totals == nil && known.Invalid == nil {
		setReadyOnly(now, s, known.Missing)
		return combined{}
	}
	sum := combine(withEarlier(known.Keys, s), ofSchedule(s, from)...)
	// Without the record nothing is deleted, and nothing else would report that.
	sum.Paused = sum.Paused || known.ServerTime.IsZero() && sum.KeptForNow.reason() != "" && recordsTime(now, s, from)
	s.Status.Problems = problems(now, s.Status.Problems, sum.Problems)
	s.Status.MoreProblems = count(sum.MoreProblems)
	if known.Totals != nil {
		setOutputs(s, known)
	}
	if known.Invalid != nil {
		setInvalid(now, s, known.Invalid)
		return combined{}
	}
	s.Status.Inputs = &v1alpha1.Inputs{PersistentVolumeClaims: v1alpha1.InputCount{
		Total: count(known.Totals[claimsTotal]), Skipped: count(sum.Skipped),
	}}
	sum.KeptForNow = sum.KeptForNow.unconfirmed(s, from)
	setConditions(now, s, from, known.Totals[claimsTotal], known.Totals[snapshotsTotal]+known.Totals[groupsTotal], sum)
	if blind {
		meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady).ObservedGeneration = s.Generation
		return sum // its times, and whether it is protected, stay as they were
	}
	setTimes(&s.Status, s.Spec.Suspend, sum)
	setProtected(now, s, sum.Protections)
	return sum
}

// setRecord sets the record of the spec and of who owns the schedule.
func setRecord(s *v1alpha1.SnapshotSchedule, from origin, known mapcontroller.Summary) {
	before := recordedOwner(s)
	if known.ServerTime.IsZero() {
		s.Status.Retention = ownerOnly(s, from)
		return
	}
	s.Status.Retention = recordOf(s, from, known.ServerTime)
	if known.Totals == nil && before != "" && recordedOwner(s) == "" {
		s.Status.Retention.ClusterSchedule = before // not every cache may be filled yet
	}
}

func setTimes(status *v1alpha1.SnapshotScheduleStatus, suspended bool, sum combined) {
	status.LastSnapshotTime = timeOf(sum.LastSnapshot)
	status.OldestRecoveryPointTime, status.RecoveryPointTime = timeOf(sum.RecoveryPoint), nil
	if !sum.NoneReady {
		status.RecoveryPointTime = timeOf(sum.RecoveryPoint)
	}
	status.OldestVerifiedTime = timeOf(sum.Verified)
	status.NextSnapshotTime, status.NextSnapshot = nil, ""
	if !suspended {
		status.NextSnapshotTime = timeOf(sum.NextSlot)
	}
	switch {
	case sum.Due:
		status.NextSnapshot = nextNow
	case status.NextSnapshotTime != nil:
		status.NextSnapshot = status.NextSnapshotTime.UTC().Format(time.RFC3339)
	}
}

// nextNow is what status.nextSnapshot says while a slot is due.
const nextNow = "now"

func setInvalid(now time.Time, s *v1alpha1.SnapshotSchedule, why error) {
	setUnknown(&s.Status)
	setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, why.Error())
	set(now, s, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec, invalidMessage)
	setPaused(now, s, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec, invalidMessage)
	set(now, s, v1alpha1.ConditionProtected, metav1.ConditionUnknown, v1alpha1.ReasonInvalidSpec, invalidMessage)
}

// setOutputs sets how many snapshots there are. Of group snapshots that cannot be listed, there may be as many as before.
func setOutputs(s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary) {
	totals, before := known.Totals, s.Status
	s.Status.Outputs.VolumeSnapshots = v1alpha1.OutputCount{
		Total: count(totals[snapshotsTotal]), Ready: count(totals[snapshotsReady]), Terminating: count(totals[snapshotsTerminating]),
	}
	s.Status.Outputs.VolumeGroupSnapshots = nil
	if s.Spec.Group != nil || totals[groupsTotal] > 0 {
		s.Status.Outputs.VolumeGroupSnapshots = &v1alpha1.OutputCount{
			Total: count(totals[groupsTotal]), Ready: count(totals[groupsReady]), Terminating: count(totals[groupsTerminating]),
		}
	}
	s.Status.Detached = &v1alpha1.Detached{
		MapKeys: count(totals[detachedKeys]), VolumeSnapshots: count(totals[detachedSnapshots]),
		VolumeGroupSnapshots: count(totals[detachedGroups]),
	}
	if known.Unseen {
		s.Status.Outputs.VolumeGroupSnapshots = before.Outputs.VolumeGroupSnapshots
		s.Status.Detached.VolumeGroupSnapshots = ptr.Deref(before.Detached, v1alpha1.Detached{}).VolumeGroupSnapshots
	}
}

// setReadyOnly sets Ready, and that Protected is not known, where nothing else is known. That a kind is missing holds for any
// generation of the spec.
func setReadyOnly(now time.Time, s *v1alpha1.SnapshotSchedule, missing []string) {
	if len(missing) > 0 {
		message := "not installed in this cluster: " + strings.Join(missing, ", ")
		setReady(now, s, metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing, message)
		set(now, s, v1alpha1.ConditionProtected, metav1.ConditionUnknown, v1alpha1.ReasonSnapshotAPIMissing, message)
		meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionProtected).ObservedGeneration = s.Generation
	} else if meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady) == nil {
		setReady(now, s, metav1.ConditionUnknown, v1alpha1.ReasonReconciling, reconcilingMessage)
	} else {
		return
	}
	meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady).ObservedGeneration = s.Generation
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionStalled) {
		setValid(now, s)
	}
}

// withEarlier returns the statuses of PVCs with the problems of earlier writes, where the
// writes of the present pass have not ended since the operator started: they are not known
// to be over.
func withEarlier(keys []any, s *v1alpha1.SnapshotSchedule) []any {
	if len(s.Status.Problems) == 0 {
		return keys
	}
	all := slices.Clone(keys)
	for i, key := range all {
		k := *key.(*keyStatus)
		if k.reported || !k.named() {
			continue
		}
		k.Problems = slices.Clone(k.Problems)
		for _, p := range earlierProblems(s, &k) {
			if _, is := reasonOf(p.Reason); is.write != "" || p.ofSlot() {
				k.addIfNew(p)
			}
		}
		k.keepWords(earlierWords(s, &k), s.Spec.Suspend)
		all[i] = &k
	}
	return all
}

// earlierProblems returns the problems of a key in the status of the present generation.
func earlierProblems(s *v1alpha1.SnapshotSchedule, k *keyStatus) []Problem {
	var found []Problem
	for _, p := range s.Status.Problems {
		if p.PersistentVolumeClaim == k.Claim && p.Group == k.groupName() && s.Status.ObservedGeneration == s.Generation {
			found = append(found, Problem{Claim: k.Claim, Group: k.groupName(), Reason: p.Reason, Message: p.Message})
		}
	}
	return found
}

// setUnknown removes what cannot be known while the spec is invalid: the old values
// were computed for another generation. The counts of outputs do not depend on the spec.
func setUnknown(status *v1alpha1.SnapshotScheduleStatus) {
	status.Inputs, status.Detached = nil, nil
	status.LastSnapshotTime, status.NextSnapshotTime, status.NextSnapshot = nil, nil, ""
	status.OldestRecoveryPointTime, status.RecoveryPointTime, status.OldestVerifiedTime = nil, nil, nil
}

// The counts of status are the engine's, under the same paths.
const (
	claimsTotal       = "inputs." + claimsResource + ".total"
	snapshotsTotal    = "outputs." + snapshotsResource + ".total"
	snapshotsReady    = "outputs." + snapshotsResource + ".ready"
	detachedKeys      = "detached.mapKeys"
	detachedSnapshots = "detached." + snapshotsResource
	groupsTotal       = "outputs." + groupsResource + ".total"
	groupsReady       = "outputs." + groupsResource + ".ready"
	detachedGroups    = "detached." + groupsResource

	snapshotsTerminating = "outputs." + snapshotsResource + ".terminating"
	groupsTerminating    = "outputs." + groupsResource + ".terminating"
)

// problems keeps the time since which a problem is known, from the status entry of
// the same PVC or group and reason.
func problems(now time.Time, before []v1alpha1.Problem, found []Problem) []v1alpha1.Problem {
	since := map[Problem]metav1.Time{}
	for _, p := range before {
		since[Problem{Claim: p.PersistentVolumeClaim, Group: p.Group, Reason: p.Reason}] = p.SinceTime
	}
	var all []v1alpha1.Problem
	for _, p := range found {
		first, known := since[Problem{Claim: p.Claim, Group: p.Group, Reason: p.Reason}]
		if !known {
			first = metav1.NewTime(now).Rfc3339Copy()
		}
		all = append(all, v1alpha1.Problem{
			PersistentVolumeClaim: p.Claim,
			Group:                 p.Group,
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
