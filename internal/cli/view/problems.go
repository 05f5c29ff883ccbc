// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Problem is what keeps a schedule, or one of its PVCs, from what it should do.
type Problem struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// SinceTime is since when the operator has reported a problem that only it knows. Maybe it is over.
	SinceTime *metav1.Time `json:"sinceTime,omitempty"`
}

// Words are the problem in words, with the age of one that was only reported.
func (p Problem) Words(now time.Time) string {
	age := ""
	if p.SinceTime != nil {
		age = " (for " + term.Rounded(now.Sub(p.SinceTime.Time)) + ")"
	}
	return p.Reason + age + ": " + p.Message
}

// knownBy says who knows that something is wrong, and so whether a problem in the status of a schedule is shown.
type knownBy uint8

const (
	// byOperator is what only the operator knows: its writes fail.
	byOperator knownBy = iota
	// byOperatorOfClaim is the same of a PVC that is selected. Else another PVC has the name now.
	byOperatorOfClaim
	// byOperatorOfSpec is the same, and follows from the spec. The operator may not see the classes that the user sees.
	byOperatorOfSpec
	// byObjects is what the live objects show. The status may be older than they are, so it is never shown.
	byObjects
)

// kindOfProblem is what a reason means to the plugin.
type kindOfProblem struct {
	known knownBy
	// Refuses is set if no snapshot is taken while the problem lasts, and none of the PVC is expected, so that it is unprotected.
	Refuses bool
	// delays is set if it says why a slot has no snapshot.
	delays bool
}

// KindsOfProblems has every reason that status.problems can have. The other reasons are those of conditions.
var KindsOfProblems = map[string]kindOfProblem{
	v1alpha1.ReasonInternalError:   {known: byOperator, delays: true},
	v1alpha1.ReasonReleaseFailed:   {known: byOperator},
	v1alpha1.ReasonDeleteFailed:    {known: byOperator},
	v1alpha1.ReasonAdoptionRefused: {known: byOperator},
	v1alpha1.ReasonLabelFailed:     {known: byOperator},
	// Of the schedule itself.
	v1alpha1.ReasonSpecDiffers:        {known: byOperator},
	v1alpha1.ReasonInvalidRequestedAt: {known: byOperator},

	v1alpha1.ReasonCreateFailed:  {known: byOperatorOfClaim, delays: true},
	v1alpha1.ReasonNameCollision: {known: byOperatorOfClaim, delays: true},
	v1alpha1.ReasonSnapshotError: {known: byOperatorOfClaim}, // also of a snapshot that was replaced
	v1alpha1.ReasonGroupWaits:    {known: byOperatorOfClaim, delays: true},

	v1alpha1.ReasonNoSnapshotClass:             {known: byOperatorOfSpec, Refuses: true, delays: true},
	v1alpha1.ReasonWrongSnapshotClass:          {known: byOperatorOfSpec, Refuses: true, delays: true},
	v1alpha1.ReasonNoDefaultSnapshotClass:      {known: byOperatorOfSpec, Refuses: true, delays: true},
	v1alpha1.ReasonNoGroupSnapshotClass:        {known: byOperatorOfSpec, Refuses: true, delays: true},
	v1alpha1.ReasonNoDefaultGroupSnapshotClass: {known: byOperatorOfSpec, Refuses: true, delays: true},
	v1alpha1.ReasonGroupSnapshotAPIMissing:     {known: byOperatorOfSpec, Refuses: true, delays: true},
	v1alpha1.ReasonVolumeLimit:                 {known: byOperatorOfSpec, delays: true},
	v1alpha1.ReasonInvalidClassAnnotation:      {known: byOperatorOfSpec},

	v1alpha1.ReasonMixedDrivers:       {known: byObjects, Refuses: true, delays: true},
	v1alpha1.ReasonGroupMismatch:      {known: byObjects, Refuses: true, delays: true},
	v1alpha1.ReasonGroupTooLarge:      {known: byObjects, Refuses: true, delays: true},
	v1alpha1.ReasonGroupStopped:       {known: byObjects, delays: true}, // its recent snapshots protect it
	v1alpha1.ReasonGroupIncomplete:    {known: byObjects},
	v1alpha1.ReasonMemberDeleted:      {known: byObjects},
	v1alpha1.ReasonSnapshotFailed:     {known: byObjects},
	v1alpha1.ReasonSnapshotSlow:       {known: byObjects},
	v1alpha1.ReasonSnapshotOverdue:    {known: byObjects},
	v1alpha1.ReasonSnapshotKeepsClaim: {known: byObjects},
	v1alpha1.ReasonDeletionStuck:      {known: byObjects},
	v1alpha1.ReasonRestorePending:     {known: byObjects},
	v1alpha1.ReasonVerificationFailed: {known: byObjects},
}

func init() {
	for _, skip := range snapshots.Skips {
		if skip.Problem != "" {
			KindsOfProblems[skip.Problem] = kindOfProblem{known: byObjects, delays: true}
		}
	}
}

// ProblemsOf returns the problems of a PVC, or of a group: those that its snapshots show, and those
// that only the operator knows.
func ProblemsOf(s *v1alpha1.SnapshotSchedule, claim, group, state string, seen []snapshots.Problem) []Problem {
	var all []Problem
	for _, p := range seen {
		all = append(all, Problem{Reason: p.Reason, Message: p.Message})
	}
	for _, p := range s.Status.Problems {
		known := slices.ContainsFunc(all, func(q Problem) bool { return q.Reason == p.Reason })
		if Concerns(p, claim, group) && !known && OnlyReported(s, p.Reason, state) {
			all = append(all, Reported(p))
		}
	}
	return all
}

// Concerns returns whether a problem is of a PVC, or of its group, if it has one.
func Concerns(p v1alpha1.Problem, claim, group string) bool {
	return group == "" && p.PersistentVolumeClaim == claim || group != "" && p.Group == group
}

// Reported is a problem that the operator reported.
func Reported(p v1alpha1.Problem) Problem {
	one := Problem{Reason: p.Reason, Message: p.Message}
	if !p.SinceTime.IsZero() {
		one.SinceTime = &p.SinceTime
	}
	return one
}

// OnlyReported returns whether only the operator knows a problem of a PVC in a state.
func OnlyReported(s *v1alpha1.SnapshotSchedule, reason, state string) bool {
	switch KindsOfProblems[reason].known { // a reason of a later operator is its own
	case byOperatorOfClaim:
		return state == StateSelected
	case byOperatorOfSpec:
		return state == StateSelected && s.Status.ObservedGeneration == s.Generation
	case byObjects:
		return false
	}
	return true
}

// RefusalOf returns why no snapshot is taken; empty if no problem says so.
func RefusalOf(all []Problem, now time.Time) string {
	for _, p := range all {
		if KindsOfProblems[p.Reason].Refuses {
			return p.Words(now)
		}
	}
	return ""
}

// Explained returns whether the status of a schedule says why a slot of a PVC with some problems has no snapshot. Problems that the
// status does not list may say so.
func Explained(s *v1alpha1.SnapshotSchedule, all []Problem) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return slices.ContainsFunc(all, func(p Problem) bool { return KindsOfProblems[p.Reason].delays }) || s.Status.MoreProblems > 0 ||
		ready != nil && strings.Contains(ready.Message, snapshots.WaitingMark)
}

// WhyUnknown says why it is not known whether a PVC can be snapshotted.
const WhyUnknown = "whether it can be snapshotted is unknown without permission to list VolumeSnapshotClasses"

// LabelOf is a PVC's name, marked if it is not selected.
func LabelOf(claim, state string) string {
	if state == StateSelected {
		return claim
	}
	return claim + " (" + strings.ToLower(state) + ")"
}
