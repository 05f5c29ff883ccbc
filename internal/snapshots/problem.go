// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"strings"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Problem is something wrong with one PVC, or one group of them, or with the schedule itself
// if Claim and Group are empty. While it is Harmless, nothing has failed because of it.
type Problem struct {
	Claim, Group, Reason, Message string
	Harmless                      bool
}

// String returns a problem for a message.
func (p Problem) String() string {
	of := p.Claim
	if of == "" && p.Group != "" {
		of = "group " + p.Group
	}
	return strings.TrimPrefix(fmt.Sprintf("%s: %s: %s", of, p.Reason, p.Message), ": ")
}

// reason is what is the same for all problems of a reason.
type reason struct {
	name string
	// fails is set if a PVC is not backed up as it should be, and refused if retention or ownership cannot be carried out.
	fails, refused bool
	// quiet is set if the problem is no event: it says that nothing happened, and an event is for what did. Anybody who
	// may annotate a snapshot can write of drills.
	quiet bool
	// write is what the write was to do that fails; empty for what no write shows.
	write string
}

// reasons has the reasons of problems, the worst first. What shows a problem, and its message, are in rules.go and writes.go.
var reasons = []reason{
	{name: v1alpha1.ReasonSpecDiffers}, // its time must not be lost
	{name: v1alpha1.ReasonClaimLost, fails: true, quiet: true},
	{name: v1alpha1.ReasonInternalError, fails: true},
	{name: v1alpha1.ReasonCreateFailed, fails: true, write: "Snapshot"},
	{name: v1alpha1.ReasonNoSnapshotClass, fails: true, quiet: true},
	{name: v1alpha1.ReasonWrongSnapshotClass, fails: true, quiet: true},
	{name: v1alpha1.ReasonNoDefaultSnapshotClass, fails: true, quiet: true},
	{name: v1alpha1.ReasonGroupSnapshotAPIMissing, fails: true, quiet: true},
	{name: v1alpha1.ReasonNoGroupSnapshotClass, fails: true, quiet: true},
	{name: v1alpha1.ReasonNoDefaultGroupSnapshotClass, fails: true, quiet: true},
	{name: v1alpha1.ReasonMixedDrivers, fails: true, quiet: true},
	{name: v1alpha1.ReasonGroupMismatch, fails: true, quiet: true},
	{name: v1alpha1.ReasonGroupStopped, fails: true, quiet: true},
	{name: v1alpha1.ReasonGroupTooLarge, fails: true, quiet: true},
	{name: v1alpha1.ReasonGroupIncomplete, fails: true},
	{name: v1alpha1.ReasonNameCollision, fails: true, write: "Snapshot"},
	{name: v1alpha1.ReasonSnapshotError, fails: true},
	{name: v1alpha1.ReasonSnapshotFailed, fails: true},
	{name: v1alpha1.ReasonSnapshotKeepsClaim, fails: true, quiet: true},
	{name: v1alpha1.ReasonVolumeLimit, fails: true, quiet: true},
	{name: v1alpha1.ReasonSnapshotOverdue, fails: true, quiet: true},
	{name: v1alpha1.ReasonVerificationFailed, fails: true, quiet: true},
	{name: v1alpha1.ReasonSnapshotSlow, quiet: true},
	{name: v1alpha1.ReasonMemberDeleted, quiet: true},
	{name: v1alpha1.ReasonReleaseFailed, refused: true, write: "Release"},
	{name: v1alpha1.ReasonDeleteFailed, refused: true, write: "Retire"},
	{name: v1alpha1.ReasonDeletionStuck, refused: true, quiet: true},
	{name: v1alpha1.ReasonAdoptionRefused, refused: true, write: "Adopt"},
	{name: v1alpha1.ReasonLabelFailed, refused: true, write: "Snapshot"},
	{name: v1alpha1.ReasonRestorePending, quiet: true},
	{name: v1alpha1.ReasonInvalidClassAnnotation},
	{name: v1alpha1.ReasonInvalidRequestedAt},
	{name: v1alpha1.ReasonGroupWaits, quiet: true},
}

// reasonOf returns the place of a reason, and what it means; one that is not listed comes last.
func reasonOf(name string) (int, reason) {
	for i := range reasons {
		if reasons[i].name == name {
			return i, reasons[i]
		}
	}
	return len(reasons), reason{name: name}
}

func (p Problem) fails() bool {
	_, r := reasonOf(p.Reason)
	return r.fails && !p.Harmless
}

func (p Problem) refused() bool {
	_, r := reasonOf(p.Reason)
	return r.refused
}

// severity is the place of a problem among others; one that is Harmless comes last.
func (p Problem) severity() int {
	if p.Harmless {
		return len(reasons)
	}
	i, _ := reasonOf(p.Reason)
	return i
}

func (p Problem) compare(q Problem) int {
	return cmp.Or(
		cmp.Compare(p.severity(), q.severity()),
		strings.Compare(p.Claim, q.Claim),
		strings.Compare(p.Group, q.Group),
		strings.Compare(p.Message, q.Message),
	)
}
