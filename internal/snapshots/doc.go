// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshots puts SnapshotSchedule together: it gives the MapController
// engine its kinds, and the Map and Tombstone functions that say which
// VolumeSnapshots a PersistentVolumeClaim should have.
//
// Where to read on:
//
//	setup.go     kinds, permissions and how they go to the engine
//	policy.go    a spec, parsed
//	mapping.go   Map and Tombstone
//	series.go    VolumeSnapshots as the decisions see them
//	snapshot.go  the VolumeSnapshot that is created, and its name
//	note.go      what one PVC tells of itself, and how notes are folded
//	record.go    what went wrong, as problems and events
//	status.go    the schedule's status
//	metrics.go   what became of snapshots, counted; metrics_gauges.go what status says
//	cache.go     what the cache holds
package snapshots
