// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

const (
	namespacesResource = "namespaces"
	schedulesResource  = "snapshotschedules"
)

// The counts of status are the engine's, under the same paths.
const (
	namespacesTotal = "inputs." + namespacesResource + ".total"
	schedulesTotal  = "outputs." + schedulesResource + ".total"
	schedulesReady  = "outputs." + schedulesResource + ".ready"
)

// setStatus computes the status. It is pure. What is not known stays as the API server
// has it.
func setStatus(now time.Time, parent client.Object, known mapcontroller.Summary) {
	f := parent.(*v1alpha1.ClusterSnapshotSchedule)
	setWhatIsKnown(now, f, known)
	if known.Refused {
		report.RefusedConditions(f.Status.Conditions)
	}
}

func setWhatIsKnown(now time.Time, f *v1alpha1.ClusterSnapshotSchedule, known mapcontroller.Summary) {
	if known.Settled {
		f.Status.ObservedGeneration = f.Generation
	}
	if known.Totals == nil && known.Invalid == nil {
		setReadyOnly(now, f, known.Missing)
		return
	}
	sum := combine(known.Keys)
	f.Status.Problems = problems(now, f.Status.Problems, sum.Problems)
	f.Status.MoreProblems = sum.MoreProblems
	if known.Invalid != nil {
		setUnknown(&f.Status, known)
		setReady(now, f, metav1.ConditionFalse, v1alpha1.ReasonInvalidSpec, known.Invalid.Error())
		set(now, f, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidSpec, invalidMessage)
		set(now, f, v1alpha1.ConditionProtected, metav1.ConditionUnknown, v1alpha1.ReasonInvalidSpec, invalidMessage)
		return
	}
	setKnown(&f.Status, known, sum)
	setReadiness(now, f, known.Totals[namespacesTotal], sum)
	setProtected(now, f, sum.Protections)
	setValid(now, f)
}

// invalidMessage is for the conditions other than Ready, whose message has the error.
const invalidMessage = "the spec is invalid: no SnapshotSchedule is created, changed or deleted until it is fixed"

const apiMissingMessage = "VolumeSnapshots are not installed in this cluster: no snapshots are taken"

func setValid(now time.Time, f *v1alpha1.ClusterSnapshotSchedule) {
	set(now, f, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonValidSpec, "the spec is valid")
}

// setReadyOnly sets Ready where nothing else is known. That a kind is missing holds for any
// generation of the spec.
func setReadyOnly(now time.Time, f *v1alpha1.ClusterSnapshotSchedule, missing []string) {
	if len(missing) > 0 {
		message := "not installed in this cluster: " + strings.Join(missing, ", ")
		setReady(now, f, metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing, message)
		set(now, f, v1alpha1.ConditionProtected, metav1.ConditionUnknown, v1alpha1.ReasonSnapshotAPIMissing, message)
		meta.FindStatusCondition(f.Status.Conditions, v1alpha1.ConditionProtected).ObservedGeneration = f.Generation
	} else if meta.FindStatusCondition(f.Status.Conditions, v1alpha1.ConditionReady) == nil {
		setReady(now, f, metav1.ConditionUnknown, v1alpha1.ReasonReconciling, "the operator has not reconciled every namespace yet")
	} else {
		return
	}
	meta.FindStatusCondition(f.Status.Conditions, v1alpha1.ConditionReady).ObservedGeneration = f.Generation
	if meta.IsStatusConditionTrue(f.Status.Conditions, v1alpha1.ConditionStalled) {
		setValid(now, f)
	}
}

// setUnknown removes what cannot be known while the spec is invalid. The counts of
// children do not depend on the spec, but none is known to have the template's. While a
// kind is missing, or a namespace undecided, they are absent: zeros are not written then.
func setUnknown(s *v1alpha1.ClusterSnapshotScheduleStatus, known mapcontroller.Summary) {
	s.Inputs, s.Detached, s.PersistentVolumeClaims, s.VolumeSnapshots, s.VolumeGroupSnapshots = nil, nil, nil, nil, nil
	s.OldestRecoveryPointTime, s.RecoveryPointTime, s.OldestRecoveryPointNamespace = nil, nil, ""
	s.Outputs.SnapshotSchedules = v1alpha1.ScheduleCount{}
	if known.Totals != nil {
		s.Outputs.SnapshotSchedules = v1alpha1.ScheduleCount{
			Total: count(known.Totals[schedulesTotal]), Ready: count(known.Totals[schedulesReady]),
		}
	}
}

func setKnown(s *v1alpha1.ClusterSnapshotScheduleStatus, known mapcontroller.Summary, sum combined) {
	s.Inputs = &v1alpha1.ClusterInputs{Namespaces: v1alpha1.NamespaceCount{Total: count(known.Totals[namespacesTotal])}}
	s.Outputs.SnapshotSchedules = sum.Children
	s.Detached = &v1alpha1.ClusterDetached{SnapshotSchedules: sum.Detached}
	s.PersistentVolumeClaims, s.VolumeSnapshots, s.VolumeGroupSnapshots = nil, nil, nil
	if sum.Uncounted == 0 { // else the sums would be too small
		s.PersistentVolumeClaims = &v1alpha1.ClaimTotals{Total: sum.Claims, Skipped: sum.Skipped}
		s.VolumeSnapshots, s.VolumeGroupSnapshots = &sum.Snapshots, sum.Groups
	}
	s.OldestRecoveryPointTime, s.RecoveryPointTime, s.OldestRecoveryPointNamespace = nil, nil, sum.OldestNamespace
	if !sum.RecoveryPoint.IsZero() {
		oldest := metav1.NewTime(sum.RecoveryPoint).Rfc3339Copy()
		s.OldestRecoveryPointTime = &oldest
		if !sum.NoneReady {
			s.RecoveryPointTime = &oldest
		}
	}
}

func setReadiness(now time.Time, f *v1alpha1.ClusterSnapshotSchedule, selected int, sum combined) {
	switch {
	case sum.APIMissing > 0:
		setReady(now, f, metav1.ConditionFalse, v1alpha1.ReasonSnapshotAPIMissing, apiMissingMessage)
	case sum.Failing > 0:
		setReady(now, f, metav1.ConditionFalse, v1alpha1.ReasonSchedulesFailing,
			fmt.Sprintf("%s failing%s%s", namespaces(int(sum.Failing)), report.Example(int(sum.Failing)), sum.Problems[0]))
	case selected == 0:
		setReady(now, f, metav1.ConditionTrue, v1alpha1.ReasonNoMatchingNamespaces, "spec.namespaceSelector matches no namespace")
	default:
		setReady(now, f, metav1.ConditionTrue, v1alpha1.ReasonScheduled, namespaces(selected))
	}
}

func namespaces(n int) string {
	if n == 1 {
		return "1 namespace"
	}
	return fmt.Sprintf("%d namespaces", n)
}

func setReady(now time.Time, f *v1alpha1.ClusterSnapshotSchedule, status metav1.ConditionStatus, reason, message string) {
	set(now, f, v1alpha1.ConditionReady, status, reason, message)
}

func set(now time.Time, f *v1alpha1.ClusterSnapshotSchedule, condition string, status metav1.ConditionStatus, reason, message string) {
	report.SetCondition(&f.Status.Conditions, now, f.Status.ObservedGeneration, condition, status, reason, message)
}

// problems keeps the time since which a problem is known, from the entry of the same
// namespace and reason.
func problems(now time.Time, before []v1alpha1.NamespaceProblem, found []problem) []v1alpha1.NamespaceProblem {
	since := map[problem]metav1.Time{}
	for _, p := range before {
		since[problem{Namespace: p.Namespace, Reason: p.Reason}] = p.SinceTime
	}
	var all []v1alpha1.NamespaceProblem
	for _, p := range found {
		first, known := since[problem{Namespace: p.Namespace, Reason: p.Reason}]
		if !known {
			first = metav1.NewTime(now).Rfc3339Copy()
		}
		all = append(all, v1alpha1.NamespaceProblem{Namespace: p.Namespace, Reason: p.Reason, Message: p.Message, SinceTime: first})
	}
	return all
}
