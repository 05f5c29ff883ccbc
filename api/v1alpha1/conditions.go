// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a SnapshotSchedule.
const (
	// ConditionReady is whether snapshots are taken as the spec asks.
	//
	// True, with reason:
	//   - Scheduled
	//   - Suspended
	//   - NoMatchingClaims
	//
	// False, with reason:
	//   - InvalidSpec
	//   - SpecDiffers
	//   - SnapshotsFailing
	//   - RetentionFailing
	//   - SnapshotAPIMissing
	//
	// Unknown, with reason:
	//   - Reconciling
	ConditionReady = "Ready"

	// ConditionProtected is whether every selected PVC can be restored to a recent slot: whether it
	// has a ready snapshot that covers the second newest slot of the interval or cron expression, or
	// a later one. While the schedule is suspended, the slots are those that it would have. PVCs that
	// are skipped do not count, and a PVC that waits for its first ready snapshot makes it False only
	// when its first slot is older than readyDeadline. It is absent until every PVC was reconciled for the first time.
	//
	// True, with reason:
	//   - RecoveryPointsCurrent
	//
	// False, with reason:
	//   - RecoveryPointsOld
	//   - NotSnapshottable
	//
	// Unknown, with reason:
	//   - FirstSnapshotsPending
	//   - NoMatchingClaims
	//   - InvalidSpec
	//   - SnapshotAPIMissing
	ConditionProtected = "Protected"

	// ConditionStalled is whether the spec is invalid, so that no snapshot is taken or deleted
	// until it is fixed. kstatus, and tools that wait in the same way, understand it.
	//
	// True, with reason:
	//   - InvalidSpec
	//
	// False, with reason:
	//   - ValidSpec
	ConditionStalled = "Stalled"

	// ConditionRetentionPaused is whether expired snapshots are kept because deleting them
	// would not be safe.
	//
	// True, with reason:
	//   - InvalidSpec
	//   - ClockSkew
	//   - SnapshotsAdopted
	//   - SpecChanged
	//
	// False, with reason:
	//   - RetentionRunning
	ConditionRetentionPaused = "RetentionPaused"
)

// Reasons of condition Ready while it is True.
const (
	// ReasonScheduled means that every selected PVC has the snapshots that are due, except
	// PVCs that are skipped because they are not bound, are being deleted or cannot be
	// snapshotted.
	ReasonScheduled = "Scheduled"

	// ReasonSuspended means that spec.suspend is true. Snapshots are taken on request only;
	// retention continues.
	ReasonSuspended = "Suspended"

	// ReasonNoMatchingClaims means that the spec selects no PVC in the namespace.
	ReasonNoMatchingClaims = "NoMatchingClaims"
)

// Reasons of condition Ready while it is False.
const (
	// ReasonInvalidSpec means that the spec has an error that the API server cannot detect: a cron
	// expression that never fires, an unknown time zone, or a jitter that is not shorter than the
	// interval. Until it is fixed, no snapshot is created or deleted.
	ReasonInvalidSpec = "InvalidSpec"

	// ReasonSpecDiffers means that for more than a minute the spec has differed from the template of
	// the ClusterSnapshotSchedule that owns the schedule. Snapshots are taken as the template asks,
	// and none is deleted until the two are equal. It is also the reason of a problem, from the
	// beginning.
	ReasonSpecDiffers = "SpecDiffers"

	// ReasonSnapshotsFailing means that for at least one PVC in status.problems, a snapshot could
	// not be created, failed or is overdue, no VolumeSnapshotClass fits, a snapshot that is not
	// ready keeps the PVC from being deleted, or the last drill failed.
	ReasonSnapshotsFailing = "SnapshotsFailing"

	// ReasonRetentionFailing means that snapshots cannot be deleted, adopted or released, for
	// example because an admission webhook refuses it or the storage does not finish a delete. New
	// snapshots are not affected. The message names the first PVC.
	ReasonRetentionFailing = "RetentionFailing"

	// ReasonSnapshotAPIMissing means that the VolumeSnapshot CRD or the VolumeSnapshotClass CRD is
	// not installed. The rest of the status stays as it is. The operator recovers within a minute of
	// the installation.
	ReasonSnapshotAPIMissing = "SnapshotAPIMissing"
)

// Reasons of condition Ready while it is Unknown.
const (
	// ReasonReconciling means that the object is new to the operator, which has not reconciled every
	// PVC, or namespace, that it selects yet. The status counts nothing until then.
	ReasonReconciling = "Reconciling"
)

// Reasons of condition Protected. While it is Unknown, it may also have the reasons NoMatchingClaims,
// which there means that no PVC is selected or all are skipped, InvalidSpec and SnapshotAPIMissing.
const (
	// ReasonRecoveryPointsCurrent means that every PVC that counts can be restored to a recent slot.
	ReasonRecoveryPointsCurrent = "RecoveryPointsCurrent"

	// ReasonRecoveryPointsOld means that at least one PVC has no ready snapshot of the second newest
	// slot or of a later one. The message names the PVC with the oldest recovery point.
	ReasonRecoveryPointsOld = "RecoveryPointsOld"

	// ReasonFirstSnapshotsPending means that no PVC can be restored to a recent slot yet, because
	// the first slot of each is not due, or younger than readyDeadline. The message says which.
	ReasonFirstSnapshotsPending = "FirstSnapshotsPending"
)

// Reasons of condition Stalled.
const (
	// ReasonValidSpec means that the spec has no error.
	ReasonValidSpec = "ValidSpec"
)

// Reasons of condition RetentionPaused.
const (
	// ReasonClockSkew means that the clocks of the operator and the API server differ by more than
	// --max-clock-skew. No snapshot is deleted, because its age cannot be trusted.
	ReasonClockSkew = "ClockSkew"

	// ReasonSpecChanged means that the spec was changed less than spec.retention.editDelay ago, and
	// snapshots wait to be deleted under it. The message counts them, and says until when and how to
	// confirm the change. Or the spec differs from the template of the ClusterSnapshotSchedule that
	// has the schedule's name and selects its namespace: then they wait until the two are equal.
	ReasonSpecChanged = "SpecChanged"

	// ReasonSnapshotsAdopted means that an earlier schedule of the same name left snapshots that
	// would be deleted. They are kept in the first hour of the schedule, or for
	// spec.retention.editDelay if that is longer, unless its generation is confirmed. The message
	// counts them and says until when.
	ReasonSnapshotsAdopted = "SnapshotsAdopted"

	// ReasonRetentionRunning means that expired snapshots are deleted normally.
	ReasonRetentionRunning = "RetentionRunning"
)

// Reasons of Warning events. Events are recorded on the schedule and name the PVC. Reasons
// that concern a single PVC also appear in status.problems and, if the PVC is selected, as
// an event of the PVC.
const (
	// ReasonCreateFailed means that the API server rejected a snapshot, for example because
	// of a quota, an admission webhook or missing permissions. The operator retries with
	// backoff.
	ReasonCreateFailed = "CreateFailed"

	// ReasonSnapshotError means that a snapshot is not ready after 2 minutes, or has failed, and its
	// status has an error. The message names the VolumeSnapshot, and repeats the first error that
	// was seen, shortened to 256 bytes. The problem stays until a newer snapshot of the PVC is
	// ready.
	ReasonSnapshotError = "SnapshotError"

	// ReasonSnapshotFailed means that the driver did not cut a snapshot within
	// spec.readyDeadline, or cut it and has reported an error for longer than that.
	ReasonSnapshotFailed = "SnapshotFailed"

	// ReasonNameCollision means that another object has the name of the snapshot to create: it is
	// not a snapshot of this PVC by this schedule, or its slot, PVC or map key was changed. The
	// message says which, and what to do.
	ReasonNameCollision = "NameCollision"

	// ReasonDeleteFailed means that the API server rejected the delete of snapshots, or the reads
	// that must confirm it failed. Each is retried with a backoff of its own, and the other
	// snapshots are deleted.
	ReasonDeleteFailed = "DeleteFailed"

	// ReasonReleaseFailed means that the schedule's ownerReference could not be removed from
	// released snapshots, or its finalizer could not be changed. Until it is removed, deleting the
	// schedule deletes these snapshots.
	ReasonReleaseFailed = "ReleaseFailed"

	// ReasonAdoptionRefused means that a snapshot without an owner has this schedule's labels and
	// was not adopted: a live read showed that it must not be, or the API server rejected the
	// change.
	ReasonAdoptionRefused = "AdoptionRefused"

	// ReasonLabelFailed means that the members of a group snapshot could not be found or labeled.
	// Until they are, the group snapshot counts for no PVC, and older ones are kept.
	ReasonLabelFailed = "LabelFailed"

	// ReasonInternalError means that the operator failed to decide about a PVC, because of an error
	// in the program: report it, with the message and the operator's log. No snapshot of the PVC is
	// taken or deleted meanwhile. The operator retries with backoff, and the other PVCs are not
	// affected.
	ReasonInternalError = "InternalError"

	// ReasonRetentionPaused means that no snapshot is deleted for now. The condition
	// RetentionPaused has the reason.
	ReasonRetentionPaused = "RetentionPaused"

	// ReasonInvalidRequestedAt means that the annotation requested-at of the schedule is not an RFC
	// 3339 time, alone or with the names of PVCs, or only requests of the ClusterSnapshotSchedule of
	// the schedule's name count. It is ignored.
	ReasonInvalidRequestedAt = "InvalidRequestedAt"
)

// Reasons that appear in status.problems only.
const (
	// ReasonSnapshotSlow means that the newest snapshot is cut but not ready, for example because it
	// is still being uploaded, and delays the next one.
	ReasonSnapshotSlow = "SnapshotSlow"

	// ReasonDeletionStuck means that snapshots with data have been terminating for longer than
	// spec.readyDeadline (at least 1m) or 1h, whichever is shorter: the storage does not finish the
	// delete, for example because a clone or a lock depends on the snapshot. While 10 snapshots of a
	// PVC are terminating, retention deletes no other.
	ReasonDeletionStuck = "DeletionStuck"

	// ReasonSnapshotKeepsClaim means that the PVC has been terminating for more than 2 minutes, and
	// the snapshot controller keeps it until a snapshot of a PVC of its name is ready or gone. That
	// may be one that is being deleted, a member of a group snapshot, or one of an earlier PVC. A
	// snapshot that failed is deleted by itself, unless it is held, or no newer one of its series is
	// ready and fewer than spec.retention.minReady are.
	ReasonSnapshotKeepsClaim = "SnapshotKeepsClaim"

	// ReasonRestorePending means that a PVC that is restored from a snapshot of this PVC has been
	// Pending for more than 1h. The snapshot is kept until that PVC is Bound or deleted.
	ReasonRestorePending = "RestorePending"

	// ReasonSnapshotOverdue means that a whole interval, or the next cron slot, has passed
	// without the snapshot that was due.
	ReasonSnapshotOverdue = "SnapshotOverdue"

	// ReasonNoSnapshotClass means that the PVC has snapshots, but no VolumeSnapshotClass belongs to
	// its driver any more. No snapshot is taken.
	ReasonNoSnapshotClass = "NoSnapshotClass"

	// ReasonClaimLost means that the PVC is in phase Lost: its PersistentVolume is gone, and the
	// data with it. No snapshot of it can be taken. Restore it from its newest snapshot.
	ReasonClaimLost = "ClaimLost"

	// ReasonWrongSnapshotClass means that the VolumeSnapshotClass that the schedule names, or every
	// one that volumeSnapshotClassNames lists, does not exist. Or the one that it names belongs to
	// another driver than the PVC, or volumeSnapshotClassNames is set and the driver of the PVC is
	// unknown. No snapshot is taken.
	ReasonWrongSnapshotClass = "WrongSnapshotClass"

	// ReasonNoDefaultSnapshotClass means that the schedule names no VolumeSnapshotClass of the PVC's
	// driver, and the driver has no default class or several. No snapshot is taken.
	ReasonNoDefaultSnapshotClass = "NoDefaultSnapshotClass"

	// ReasonGroupMismatch means that the labels of a group match other PVCs than the schedule
	// selects, for example an excluded one, or a selected PVC lacks the label of spec.group.byLabel.
	// No snapshot of the group is taken, because it would contain other PVCs than are meant.
	ReasonGroupMismatch = "GroupMismatch"

	// ReasonGroupStopped means that a PVC of a group is not Bound, is being deleted or cannot be
	// snapshotted, and others can. No snapshot of the group is taken, because it would lack the PVC.
	// The message names it.
	ReasonGroupStopped = "GroupStopped"

	// ReasonMixedDrivers means that the PVCs of a group belong to several CSI drivers. No snapshot
	// of the group is taken.
	ReasonMixedDrivers = "MixedDrivers"

	// ReasonGroupTooLarge means that a group has more than 100 PVCs. No snapshot of it is taken.
	ReasonGroupTooLarge = "GroupTooLarge"

	// ReasonGroupWaits means that a group found no room within the limits of its driver although the
	// driver was reserved for its namespace. The message says how many places it needs, and what has
	// them. Ready stays as it is until a slot is overdue.
	ReasonGroupWaits = "GroupWaits"

	// ReasonNoGroupSnapshotClass means that no VolumeGroupSnapshotClass belongs to the driver of a
	// group, or the one that the schedule names does not exist or belongs to another driver. No
	// snapshot of the group is taken.
	ReasonNoGroupSnapshotClass = "NoGroupSnapshotClass"

	// ReasonNoDefaultGroupSnapshotClass means that the schedule names no VolumeGroupSnapshotClass,
	// and the driver of a group has no default class or several. No snapshot of the group is
	// taken.
	ReasonNoDefaultGroupSnapshotClass = "NoDefaultGroupSnapshotClass"

	// ReasonGroupSnapshotAPIMissing means that spec.group is set, and the CRDs of
	// VolumeGroupSnapshots are not installed, or the operator may not list them. Schedules without
	// spec.group are not affected. The operator recovers within a minute.
	ReasonGroupSnapshotAPIMissing = "GroupSnapshotAPIMissing"

	// ReasonGroupIncomplete means that the newest group snapshot is ready, and does not hold
	// exactly the PVCs that it was taken for, although the driver reported no error.
	ReasonGroupIncomplete = "GroupIncomplete"

	// ReasonMemberDeleted means that somebody deleted the VolumeSnapshot of one PVC of a group
	// snapshot. That cannot be undone: the group snapshot no longer counts for that PVC.
	ReasonMemberDeleted = "MemberDeleted"

	// ReasonVolumeLimit means that the PVC has as many snapshots as a VolumeSnapshotClass of its
	// driver allows (annotation max-per-volume), so that the next one finds no place. Or the spec
	// keeps as many or more, with those that are held; that leaves Ready as it is.
	ReasonVolumeLimit = "VolumeLimit"

	// ReasonVerificationFailed means that the last drill of the PVC failed: the latest trial restore
	// of any of its snapshots, as the annotations verified-at and verify-failed record it. The
	// message names the VolumeSnapshot and the reason. The problem stays until a later drill
	// succeeds, or the snapshot is gone.
	ReasonVerificationFailed = "VerificationFailed"

	// ReasonInvalidClassAnnotation means that a VolumeSnapshotClass of a driver of the schedule's
	// PVCs has an annotation of a limit with a malformed value, which is ignored.
	ReasonInvalidClassAnnotation = "InvalidClassAnnotation"
)

// Reasons for which a PVC is skipped. They appear in the message of the condition Ready.
const (
	// ReasonNotSnapshottable means that no VolumeSnapshotClass belongs to the driver of a PVC, or an
	// in-tree plugin of Kubernetes provisioned it. The PVC has no snapshots, and is skipped: Ready
	// does not become False. If this holds for every selected PVC that is bound, Protected is False
	// for this reason. To say that a PVC is not meant, exclude it, or select others by label or with
	// storageClassNames.
	ReasonNotSnapshottable = "NotSnapshottable"
)
