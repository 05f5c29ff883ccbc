// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a SnapshotSchedule.
const (
	// ConditionReady says whether snapshots are taken as the spec asks.
	//
	// True, with reason:
	//   - Scheduled
	//   - Suspended
	//   - NoMatchingClaims
	//
	// False, with reason:
	//   - InvalidSpec
	//   - SnapshotsFailing
	//   - SnapshotAPIMissing
	ConditionReady = "Ready"

	// ConditionRetentionPaused says whether nothing is deleted although retention would
	// allow it.
	//
	// True, with reason:
	//   - ClockSkew
	//
	// False, with reason:
	//   - RetentionRunning
	ConditionRetentionPaused = "RetentionPaused"
)

// Reasons of condition Ready while it is True.
const (
	// ReasonScheduled: every matching PVC that can be snapshotted has the snapshots that are
	// due, and the next ones have a time.
	ReasonScheduled = "Scheduled"

	// ReasonSuspended: spec.suspend is true. No snapshot is taken unless one is requested;
	// retention goes on.
	ReasonSuspended = "Suspended"

	// ReasonNoMatchingClaims: spec.selector matches no PVC of the namespace.
	ReasonNoMatchingClaims = "NoMatchingClaims"
)

// Reasons of condition Ready while it is False.
const (
	// ReasonInvalidSpec: the spec holds something that only the controller can see to be
	// wrong, such as a cron line that never fires, an unknown time zone, or a jitter that is
	// not shorter than the interval. Nothing is created and nothing is deleted until it is
	// mended.
	ReasonInvalidSpec = "InvalidSpec"

	// ReasonSnapshotsFailing: for at least one PVC that can be snapshotted the create failed,
	// the newest snapshot failed, or a snapshot is overdue. status.problems names them.
	ReasonSnapshotsFailing = "SnapshotsFailing"

	// ReasonSnapshotAPIMissing: the API server does not serve VolumeSnapshots. The manager
	// goes on by itself once the CRD is installed.
	ReasonSnapshotAPIMissing = "SnapshotAPIMissing"
)

// Reasons of condition RetentionPaused.
const (
	// ReasonClockSkew: the API server's clock and the manager's differ by more than
	// --max-clock-skew, so ages can't be trusted and nothing is deleted.
	ReasonClockSkew = "ClockSkew"

	// ReasonRetentionRunning: retention deletes what the spec no longer keeps. The reason of
	// RetentionPaused while it is False.
	ReasonRetentionRunning = "RetentionRunning"
)

// Reasons of warning events, which are on the schedule and name the PVC. Those about single
// PVCs are reasons of status.problems too.
const (
	// ReasonCreateFailed: the API server refused to create a snapshot (quota, admission,
	// permission, …). It is tried again with backoff.
	ReasonCreateFailed = "CreateFailed"

	// ReasonSnapshotFailed: a snapshot was not cut within spec.readyDeadline, or was cut and
	// has been in error for longer than that.
	ReasonSnapshotFailed = "SnapshotFailed"

	// ReasonNameCollision: an object that is not this schedule's snapshot of this PVC has the
	// name that the snapshot is to have.
	ReasonNameCollision = "NameCollision"

	// ReasonAdoptionRefused: a snapshot carries this schedule's labels but can't be adopted.
	ReasonAdoptionRefused = "AdoptionRefused"

	// ReasonRetentionPaused: nothing is deleted for now; see ConditionRetentionPaused.
	ReasonRetentionPaused = "RetentionPaused"

	// ReasonInvalidRequestedAt: the requested-at annotation of the schedule or of a PVC is
	// not an RFC 3339 time. It is ignored.
	ReasonInvalidRequestedAt = "InvalidRequestedAt"
)

// Reasons of status.problems that are not events.
const (
	// ReasonSnapshotSlow: the newest snapshot was cut but is not ready, and holds up the next
	// slot.
	ReasonSnapshotSlow = "SnapshotSlow"

	// ReasonSnapshotOverdue: a whole interval, or the next cron slot, has passed and no
	// snapshot serves it.
	ReasonSnapshotOverdue = "SnapshotOverdue"
)
