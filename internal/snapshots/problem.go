// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"slices"
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

// The reasons of problems, the worst first.
var (
	// failingReasons mean that a PVC is not backed up as it should be.
	failingReasons = []string{
		v1alpha1.ReasonClaimLost,
		v1alpha1.ReasonInternalError,
		v1alpha1.ReasonCreateFailed,
		v1alpha1.ReasonNoSnapshotClass,
		v1alpha1.ReasonWrongSnapshotClass,
		v1alpha1.ReasonNoDefaultSnapshotClass,
		v1alpha1.ReasonGroupSnapshotAPIMissing,
		v1alpha1.ReasonNoGroupSnapshotClass,
		v1alpha1.ReasonNoDefaultGroupSnapshotClass,
		v1alpha1.ReasonMixedDrivers,
		v1alpha1.ReasonGroupMismatch,
		v1alpha1.ReasonGroupStopped,
		v1alpha1.ReasonGroupTooLarge,
		v1alpha1.ReasonGroupIncomplete,
		v1alpha1.ReasonNameCollision,
		v1alpha1.ReasonSnapshotError,
		v1alpha1.ReasonSnapshotFailed,
		v1alpha1.ReasonSnapshotKeepsClaim,
		v1alpha1.ReasonVolumeLimit,
		v1alpha1.ReasonSnapshotOverdue,
		v1alpha1.ReasonVerificationFailed,
	}
	// refusedReasons mean that retention or ownership cannot be carried out.
	refusedReasons = []string{
		v1alpha1.ReasonReleaseFailed,
		v1alpha1.ReasonDeleteFailed,
		v1alpha1.ReasonDeletionStuck,
		v1alpha1.ReasonAdoptionRefused,
		v1alpha1.ReasonLabelFailed,
	}
	// writeReasons are those of writes that fail.
	writeReasons = []string{
		v1alpha1.ReasonCreateFailed, v1alpha1.ReasonNameCollision,
		v1alpha1.ReasonReleaseFailed, v1alpha1.ReasonDeleteFailed, v1alpha1.ReasonAdoptionRefused, v1alpha1.ReasonLabelFailed,
	}

	severity = slices.Concat([]string{v1alpha1.ReasonSpecDiffers}, failingReasons, // the first one, because its time must not be lost
		[]string{v1alpha1.ReasonSnapshotSlow, v1alpha1.ReasonMemberDeleted}, refusedReasons,
		[]string{v1alpha1.ReasonRestorePending, v1alpha1.ReasonInvalidClassAnnotation, v1alpha1.ReasonInvalidRequestedAt})
)

func (p Problem) fails() bool { return !p.Harmless && slices.Contains(failingReasons, p.Reason) }

func (p Problem) refused() bool { return slices.Contains(refusedReasons, p.Reason) }

// severity is the place of a problem among others; one that is not listed or Harmless comes last.
func (p Problem) severity() int {
	if i := slices.Index(severity, p.Reason); i >= 0 && !p.Harmless {
		return i
	}
	return len(severity)
}

func (p Problem) compare(q Problem) int {
	return cmp.Or(
		cmp.Compare(p.severity(), q.severity()),
		strings.Compare(p.Claim, q.Claim),
		strings.Compare(p.Group, q.Group),
		strings.Compare(p.Message, q.Message),
	)
}
