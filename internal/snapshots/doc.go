// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshots is SnapshotSchedule as a MapController: it compiles a
// schedule's spec and decides which VolumeSnapshots a PersistentVolumeClaim
// should have. Its decisions need no cluster and no clock.
//
//	setup.go        kinds, permissions, and the engine's set-up
//	compile.go      a spec, compiled
//	map.go          Map and Tombstone
//	request.go      the problem of a malformed request; api/v1alpha1 parses requests
//	series.go       VolumeSnapshots as decisions see them
//	owner.go        which VolumeSnapshots are a schedule's; members of groups
//	snapshot.go     the VolumeSnapshot that is created, and its name
//	class.go        whether a PVC can be snapshotted, and by which VolumeSnapshotClass
//	edits.go        deletes wait for editDelay after an edit, and for an hour after an adoption
//	inflight.go     creates wait until their storage driver has room
//	judge.go        the same decisions outside of the operator, with their reasons
//	trouble.go      what is wrong with the snapshots of a PVC
//	keystatus.go    a PVC's part of the schedule's status, and how parts are combined
//	report.go       failed writes as problems, and events for new problems
//	collision.go    why the name of a snapshot is taken
//	status.go       the schedule's status
//	metrics.go      counters and histograms; metrics_ready.go: time to readiness;
//	                metrics_gauges.go and metrics_gaugekinds.go: gauges, read from status;
//	                metrics_inflight.go, metrics_unprotected.go and metrics_build.go: gauges
//	                of storage drivers, of PVCs without a schedule, and of the build
//	cache.go        what the cache holds of each object
//	intern.go       shares what is equal in the snapshots of a PVC; internclaim.go: in PVCs
//	rest.go         the REST config and REST mapper that the controller needs
package snapshots
