// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Prefix is the prefix of all label keys, annotation keys and finalizers of this API. A
// snapshotTemplate must not set keys with this prefix.
const Prefix = GroupName + "/"

// Labels of every VolumeSnapshot that a schedule creates.
const (
	// LabelMapKey is the map key: the UID of the snapshot's PVC. Removing this label releases the
	// snapshot: the operator removes its owner reference and never touches the snapshot again.
	LabelMapKey = Prefix + "map-key"

	// LabelSchedule is the name of the SnapshotSchedule. A snapshot without an owner that has this
	// label and LabelMapKey is adopted by the schedule of that name.
	LabelSchedule = Prefix + "schedule"

	// LabelClaim is the name of the PVC of a snapshot, for people and their selectors: nothing is
	// decided by it. It is missing if the name is longer than 63 characters.
	LabelClaim = Prefix + "persistentvolumeclaim"
)

// LabelGroupSnapshot is the name of the VolumeGroupSnapshot, on the VolumeSnapshots that are
// members of a group snapshot of a schedule. Members never have a map key.
const LabelGroupSnapshot = Prefix + "group-snapshot"

// LabelRollback is the ID of a rollback by the kubectl plugin, on the VolumeSnapshot of the data
// that it replaced. That snapshot belongs to no schedule, and stays until somebody deletes it.
const LabelRollback = Prefix + "rollback"

// Annotations.
const (
	// AnnotationScheduledAt is the slot of a snapshot: the time at which it was due, in RFC 3339 and
	// UTC. The operator sets it.
	AnnotationScheduledAt = Prefix + "scheduled-at"

	// AnnotationRhythm is a slot of an earlier PVC, in RFC 3339 and UTC, from which the interval
	// slots of a series continue after a rollback. The operator sets it.
	AnnotationRhythm = Prefix + "rhythm"

	// AnnotationVolume is the volume of a snapshot: spec.volumeName of its PVC. On a
	// VolumeGroupSnapshot it is JSON: the volumes by the names of the PVCs. The operator sets it.
	AnnotationVolume = Prefix + "volume"

	// AnnotationClaims is the record of a VolumeGroupSnapshot: the names and UIDs of the PVCs that
	// were to be snapshotted, as JSON. The operator sets it.
	AnnotationClaims = Prefix + "claims"

	// AnnotationRequestedAt is a request for one more snapshot of each PVC of a SnapshotSchedule at
	// the given time, in RFC 3339: "2026-01-31T12:00:00Z". For some of its PVCs only, at most 100,
	// their names follow after a space: "2026-01-31T12:00:00Z data-0,data-1". On a
	// ClusterSnapshotSchedule it is about all namespaces. On its SnapshotSchedules, and on PVCs, it
	// is ignored.
	AnnotationRequestedAt = Prefix + "requested-at"

	// AnnotationAllowDeletion allows the deletion of a SnapshotSchedule, or of a CRD of this API,
	// with its snapshots, where the policies of config/guardrails refuse it: set it to "true"
	// before. It also allows owner references, whose owner takes the schedule along.
	AnnotationAllowDeletion = Prefix + "allow-deletion"

	// AnnotationConfirmGeneration confirms the present spec of a SnapshotSchedule, if its value is
	// metadata.generation: retention deletes at once what would wait for retention.editDelay, or for
	// the first hour of a schedule. On the SnapshotSchedules of a ClusterSnapshotSchedule it is
	// ignored: set it on that, where it ends the delay only. Keep it out of manifests: generations
	// begin at 1 when a schedule is created again, so an old value would confirm what comes later.
	AnnotationConfirmGeneration = Prefix + "confirm-generation"

	// AnnotationExclude excludes a PVC from all schedules while it is set, with any value, and a
	// namespace from all ClusterSnapshotSchedules.
	AnnotationExclude = Prefix + "exclude"

	// AnnotationHold is a hold on a snapshot: retention does not delete it. If the value is an RFC
	// 3339 time, the hold ends then. With any other value it lasts while the annotation is set.
	AnnotationHold = Prefix + "hold"

	// AnnotationHolders says who holds a snapshot, and until when, as JSON. The kubectl plugin
	// writes it together with AnnotationHold, which alone decides.
	AnnotationHolders = Prefix + "holders"

	// AnnotationVerifiedAt is when a drill of a VolumeSnapshot, a trial restore, last succeeded, in
	// RFC 3339. The later of this annotation and AnnotationVerifyFailed counts. A malformed value is
	// ignored, and a time in the future until it has come.
	AnnotationVerifiedAt = Prefix + "verified-at"

	// AnnotationVerifyFailed is when a drill of a VolumeSnapshot last failed, and why: an RFC 3339
	// time, a space, and a reason of at most 200 bytes. If it is not older than
	// AnnotationVerifiedAt, the snapshot is not verified, and the PVC has the problem
	// VerificationFailed until a later drill of any of its snapshots succeeds.
	AnnotationVerifyFailed = Prefix + "verify-failed"

	// AnnotationRollback says that a rollback by the kubectl plugin is unfinished, as JSON: its ID,
	// who runs it, its last step, and what the PVCs go back to. It is on the workload or, without
	// one, on the PVC.
	AnnotationRollback = Prefix + "rollback"

	// AnnotationRollbackPrefix is the key of the record of a rollback, followed by its ID, on the
	// PersistentVolume that the kubectl plugin put under a PVC. By this record, the plugin resumes and
	// undoes the rollback.
	AnnotationRollbackPrefix = Prefix + "rollback-"

	// AnnotationRollbackOf is the name of the PVC that is rolled back, on what a rollback by the
	// kubectl plugin creates.
	AnnotationRollbackOf = Prefix + "rollback-of"

	// AnnotationCopyOf is the VolumeSnapshot, as namespace/name/UID, of which the kubectl plugin
	// makes a copy in another namespace, on the temporary VolumeSnapshotContent.
	AnnotationCopyOf = Prefix + "copy-of"
)

// LabelCopyTo is the namespace for which the kubectl plugin made a VolumeSnapshotContent, on
// that content. By this label, the plugin finds what an interrupted copy has left.
const LabelCopyTo = Prefix + "copy-to"

// LabelDrill is the UID of the VolumeSnapshot that a drill of the kubectl plugin restores, on
// its Job, pod and PVC. It decides nothing.
const LabelDrill = Prefix + "drill"

// LabelProof is the ID of a proof of the storage by the kubectl plugin, on its namespace and on the
// VolumeSnapshotContent that it makes. By this label, the plugin finds what an interrupted proof has
// left.
const LabelProof = Prefix + "proof"

// AnnotationProofRenewed is when a running proof by the kubectl plugin last renewed its objects, those
// with LabelProof, in RFC 3339. If that was ten minutes ago, the next proof removes them.
const AnnotationProofRenewed = Prefix + "proof-renewed"

// Annotations of a VolumeSnapshotClass: what the storage of its driver can take, as positive numbers,
// such as "20". Of several classes of a driver the strictest value holds, whichever class is used. A
// malformed value is ignored, and is the problem InvalidClassAnnotation of the schedules that use the
// driver.
const (
	// AnnotationMaxInFlight is how many snapshots of the driver may be uncut at a time, in place of
	// --max-in-flight-per-driver.
	AnnotationMaxInFlight = Prefix + "max-in-flight"

	// AnnotationMaxPending is how many snapshots of the driver may be uncut, in progress, or being
	// deleted without having been ready, for storage that cuts at once and uploads for hours. Those
	// that failed, or that a newer ready one of their PVC followed, do not count.
	AnnotationMaxPending = Prefix + "max-pending"

	// AnnotationMaxPerVolume is how many snapshots of one PVC may exist at a time under all
	// schedules, including those that are being deleted.
	AnnotationMaxPerVolume = Prefix + "max-per-volume"

	// AnnotationMinSpacing is the minimum time between the creation of two snapshots of one PVC under
	// all schedules: a duration such as 10m.
	AnnotationMinSpacing = Prefix + "min-spacing"
)

// AnnotationProven is what the kubectl plugin's last proof of a driver has shown, on a
// VolumeSnapshotClass: an RFC 3339 time, the driver's version or "unknown", and facts such as
// copies=yes or groups=no. A malformed value, or one of the future, is ignored.
const AnnotationProven = Prefix + "proven"

// FinalizerRelease is the finalizer of a SnapshotSchedule with deletionPolicy Orphan while some
// snapshot may still have an owner reference to it. One with spec.group and deletionPolicy
// Delete always has it: its deletion waits until its youngest group snapshot is a minute old.
const FinalizerRelease = Prefix + "release"

// Labels of every SnapshotSchedule that a ClusterSnapshotSchedule creates, besides LabelMapKey,
// which there is the name of the namespace.
const (
	// LabelClusterSchedule is the name of the ClusterSnapshotSchedule, on its SnapshotSchedules. It
	// adopts a SnapshotSchedule of its name without an owner that has this label, and LabelMapKey
	// with the name of its namespace.
	LabelClusterSchedule = Prefix + "cluster-schedule"
)
