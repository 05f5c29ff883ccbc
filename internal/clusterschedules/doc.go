// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusterschedules is ClusterSnapshotSchedule as a MapController: for every namespace that
// is selected it keeps a SnapshotSchedule, the child, whose spec is the template's.
//
//	setup.go      kinds, permissions, cache, and the engine's set-up
//	compile.go    a spec, compiled
//	map.go        Map and Tombstone
//	child.go      the SnapshotSchedule of a namespace: as it should be, and its updates
//	left.go       whether a SnapshotSchedule has snapshots left
//	keystatus.go  a namespace's part of the status, and how parts are combined
//	report.go     failed writes as problems, and events for new problems
//	status.go     the status
//	protection.go whether the namespaces can be restored to recent slots
//	metrics.go    the same as metrics
package clusterschedules
