// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Prefix is the prefix of all label keys, annotation keys and finalizers of this API. A
// snapshotTemplate must not set keys with this prefix.
const Prefix = GroupName + "/"

// Labels of every VolumeSnapshot that a schedule creates.
const (
	// LabelMapKey is the map key: the UID of the snapshot's PVC. Removing this label from a
	// snapshot releases the snapshot: the controller removes its owner reference and never
	// touches the snapshot again.
	LabelMapKey = Prefix + "map-key"

	// LabelSchedule is the name of the SnapshotSchedule. A snapshot without an owner that
	// carries this label and LabelMapKey is adopted by the schedule of that name.
	LabelSchedule = Prefix + "schedule"

	// LabelClaim is the name of the PVC that a VolumeSnapshot was taken of, for people and their
	// selectors: nothing is decided by it. It is missing where the name is longer than 63
	// characters.
	LabelClaim = Prefix + "persistentvolumeclaim"
)

// LabelGroupSnapshot is the name of the VolumeGroupSnapshot that a VolumeSnapshot is a member of,
// on the members of the group snapshots that a schedule created. Members never carry a map key.
const LabelGroupSnapshot = Prefix + "group-snapshot"

// LabelRollback is the ID of a rollback by the kubectl plugin, on the VolumeSnapshot that it took of the
// data that it replaced. Such a snapshot has no map key: it belongs to no schedule, counts for nothing,
// and stays until somebody deletes it.
const LabelRollback = Prefix + "rollback"

// Annotations.
const (
	// AnnotationScheduledAt is the slot of a VolumeSnapshot: the time at which it was due, in
	// RFC 3339 and UTC. The controller sets it.
	AnnotationScheduledAt = Prefix + "scheduled-at"

	// AnnotationRhythm is a slot of an earlier PVC, in RFC 3339 and UTC, from which the interval slots of a
	// snapshot's series go on after a rollback. The controller sets it on what it takes in that rhythm.
	AnnotationRhythm = Prefix + "rhythm"

	// AnnotationVolume is the volume of which a VolumeSnapshot was taken: spec.volumeName of its PVC. Of a
	// VolumeGroupSnapshot, it is JSON: the volumes by the names of the PVCs. The controller sets it.
	AnnotationVolume = Prefix + "volume"

	// AnnotationClaims is the record of a VolumeGroupSnapshot: the names of the PVCs that were to be
	// snapshotted, and their UIDs, as JSON. The controller sets it.
	AnnotationClaims = Prefix + "claims"

	// AnnotationRequestedAt is a request for one more snapshot of each PVC of a SnapshotSchedule
	// at the given time, in RFC 3339: "2026-01-31T12:00:00Z". For some of its PVCs only, their
	// names follow after a space: "2026-01-31T12:00:00Z data-0,data-1". On a PVC it is ignored, and
	// on the SnapshotSchedule of a ClusterSnapshotSchedule: set it on that, for all namespaces.
	AnnotationRequestedAt = Prefix + "requested-at"

	// AnnotationAllowDeletion allows the deletion of a SnapshotSchedule, or of a CRD of this API,
	// with its snapshots, where the policies of config/guardrails refuse it: set it to "true"
	// before the deletion. It also allows owner references, whose owner takes the schedule along.
	AnnotationAllowDeletion = Prefix + "allow-deletion"

	// AnnotationConfirmGeneration confirms the present spec of a SnapshotSchedule, so that
	// retention deletes at once what it would delete only after retention.editDelay, or in the
	// first hour of a schedule. Its value is the schedule's metadata.generation; another value is
	// ignored. On the SnapshotSchedule of a ClusterSnapshotSchedule it is ignored, too: set it on
	// that, with its metadata.generation. There it ends the delay only. Keep it out of manifests:
	// generations begin at 1 when a schedule is created again, so an old value would confirm the
	// new schedule, or a later edit of it, before it is made.
	AnnotationConfirmGeneration = Prefix + "confirm-generation"

	// AnnotationExclude excludes a PVC from all schedules while it is set, with any value, and a
	// namespace from all ClusterSnapshotSchedules.
	AnnotationExclude = Prefix + "exclude"

	// AnnotationHold is a hold on a VolumeSnapshot: retention does not delete the snapshot. If the
	// value is an RFC 3339 time, the hold ends then. With any other value it lasts while the
	// annotation is set.
	AnnotationHold = Prefix + "hold"

	// AnnotationHolders says who holds a VolumeSnapshot: JSON of reasons, or what rollbacks and copies
	// call themselves, and when each of these holds ends, empty for never. The kubectl plugin
	// writes it, with the longest of them as AnnotationHold in the same patch. Nothing is decided by
	// it: without AnnotationHold nothing is held.
	AnnotationHolders = Prefix + "holders"

	// AnnotationVerifiedAt is when a drill of a VolumeSnapshot last succeeded, in RFC 3339. A drill
	// is a restore to try it, as kubectl snapsched verify runs it. Of this annotation and
	// AnnotationVerifyFailed the later one counts. A malformed value is ignored, and one in the
	// future until its time.
	AnnotationVerifiedAt = Prefix + "verified-at"

	// AnnotationVerifyFailed is when a drill of a VolumeSnapshot last failed, and why: an RFC 3339
	// time, a space, and a reason of at most 200 bytes. If it is not older than
	// AnnotationVerifiedAt, the PVC has the problem VerificationFailed until a later drill of any
	// of its snapshots succeeds, and retention.minVerified does not keep the snapshot. Nothing else
	// depends on it.
	AnnotationVerifyFailed = Prefix + "verify-failed"

	// AnnotationRollback says that a rollback by the kubectl plugin is unfinished: its ID, who runs it, the
	// time of its last step, and what the PVCs go back to, as JSON. It is on the workload or, without one, on
	// the PVC. The plugin takes it off at the end.
	AnnotationRollback = Prefix + "rollback"

	// AnnotationRollbackPrefix, with the ID of a rollback by the kubectl plugin behind it, is the record of the
	// rollback, on the PersistentVolume whose data came under the name of a PVC: the manifest of the PVC
	// before, the old PersistentVolume, and the reclaim policies. The plugin finds by it what an
	// interrupted rollback has still to do, and undoes by it one that is finished.
	AnnotationRollbackPrefix = Prefix + "rollback-"

	// AnnotationRollbackOf is the name of the PVC that is rolled back, on what a rollback by the
	// kubectl plugin creates.
	AnnotationRollbackOf = Prefix + "rollback-of"

	// AnnotationCopyOf is the VolumeSnapshot, as namespace/name/UID, of which the kubectl plugin makes
	// a copy in another namespace, on the VolumeSnapshotContent that exists meanwhile.
	AnnotationCopyOf = Prefix + "copy-of"
)

// LabelCopyTo is the namespace for which the kubectl plugin made a VolumeSnapshotContent, on that
// content. The plugin finds by it what an interrupted copy has left.
const LabelCopyTo = Prefix + "copy-to"

// LabelDrill is the UID of the VolumeSnapshot that a drill restores, on the Job of the drill, its pod and its PVC. The kubectl plugin
// sets it, and nothing is decided by it.
const LabelDrill = Prefix + "drill"

// Annotations of a VolumeSnapshotClass: what the storage of its driver can take. Of several
// classes of a driver the strictest value holds, whichever class is used. A malformed value is
// ignored, and is the problem InvalidClassAnnotation of the schedules that use the driver.
const (
	// AnnotationMaxInFlight is how many snapshots of the driver may be uncut at a time, in place of
	// the operator's --max-in-flight-per-driver: a number from 1 on, such as "20".
	AnnotationMaxInFlight = Prefix + "max-in-flight"

	// AnnotationMaxPending is how many snapshots of the driver may be uncut, in progress, or being
	// deleted without having been ready, for storage that cuts at once and uploads for hours: a
	// number from 1 on, such as "10". Those that failed, or that a newer ready one of their PVC
	// followed, do not count.
	AnnotationMaxPending = Prefix + "max-pending"

	// AnnotationMaxPerVolume is how many snapshots of one PVC may exist at a time, over all
	// schedules, those that are being deleted included: a number from 1 on, such as "3".
	AnnotationMaxPerVolume = Prefix + "max-per-volume"

	// AnnotationMinSpacing is how far apart snapshots of one PVC are created at least, over all
	// schedules: a duration such as 10m, with the units y w d h m s.
	AnnotationMinSpacing = Prefix + "min-spacing"
)

// FinalizerRelease is the finalizer of a SnapshotSchedule with deletionPolicy Orphan while
// some snapshot may still have an owner reference to it, as after a change to the policy. One
// with spec.group and deletionPolicy Delete always has it: its deletion waits until its youngest
// group snapshot is a minute old.
const FinalizerRelease = Prefix + "release"

// Labels of every SnapshotSchedule that a ClusterSnapshotSchedule creates, besides LabelMapKey,
// which there is the name of the namespace.
const (
	// LabelClusterSchedule is the name of the ClusterSnapshotSchedule. A SnapshotSchedule of this
	// name without an owner that carries this label, and LabelMapKey with the name of its
	// namespace, is adopted by the ClusterSnapshotSchedule of that name.
	LabelClusterSchedule = Prefix + "cluster-schedule"
)
