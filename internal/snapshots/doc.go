// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshots is SnapshotSchedule as a MapController: it compiles a
// schedule's spec and decides which VolumeSnapshots a PersistentVolumeClaim
// should have. Its decisions need no cluster and no clock. A file uses only what is
// in those below it:
//
//	judge.go        the same decisions outside of the operator, with their reasons
//	judgeclasses.go what classes mean for a driver, as the operator chooses them
//	setup.go        kinds, permissions, and the engine's set-up
//	report.go       what became of the writes of a pass, and events for new problems
//	writes.go       what is wrong after the writes of a pass: the list of rules; why the name of a snapshot is taken
//	figures.go      the schedule's status as figures of metrics
//	status.go       the schedule's status
//	conditions.go   the conditions in it
//	unprotected.go  counts the PVCs that no schedule protects
//	mapping.go      which decision is made about a key
//	map.go          Map and Tombstone: a list of steps about a subject, which is a PVC or a group
//	rules.go        what is wrong with a subject, or a schedule: the list of rules
//	observed.go     what rules read
//	choice.go       by which class a subject is snapshotted, or why it is not
//	groups.go       what concerns groups alone: when their PVCs settle, deletes that wait
//	waiting.go      the slot of a PVC that waits, and what for; how many snapshots count and wait
//	inflight.go     creates wait until their storage driver has room
//	nomatch.go      what labels exist where a spec selects no PVC
//	capacity.go     what the storage of a driver, and of a PVC, can take
//	deletes.go      counts deletes when the snapshots are gone
//	drill.go        what drills of the snapshots of a PVC show
//	earlier.go      keeps what drivers said in earlier passes
//	keystatus.go    a PVC's part of the schedule's status, and how parts are combined
//	protection.go   whether PVCs can be restored to a recent slot
//	edits.go        deletes wait for editDelay after an edit, and for an hour after an adoption
//	group.go        the key of a group; a group snapshot that is ready
//	snapshot.go     the snapshot, or group snapshot, of a subject that is created, and its name
//	subject.go      what is decided about: a PVC, or a group of them, with its snapshots
//	backups.go      the snapshots of a PVC, or group snapshots with their members, as decisions see them
//	program.go      a compiled schedule, and which PVCs it selects
//	origin.go       whose requests and confirmations apply to a schedule, and by which spec it is decided
//	cache.go        what the cache holds, and how it is filled
//	class.go        whether PVCs can be snapshotted, and by which class: of snapshots, and of group snapshots
//	classes.go      the classes of the cluster
//	drivererror.go  what drivers say about snapshots
//	compile.go      a spec, compiled; how many snapshots of a PVC it keeps
//	driver.go       the storage driver of a PVC
//	skip.go         which PVCs are skipped, whatever their class
//	problem.go      something wrong with a PVC, and how bad it is
//	owner.go        which VolumeSnapshots are a schedule's; members of groups
//	outputs.go      what the engine asks about snapshots
//	restores.go     the PVCs that are being restored from snapshots, or deleted under the name of their source
//	options.go      the settings of the controller
//	rest.go         the REST config and REST mapper that the controller needs
//
//	cached          which fields the cache keeps, and what is stored once
//	metrics         the metrics, as one value
package snapshots
