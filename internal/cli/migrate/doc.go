// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package migrate converts the schedules of snapscheduler
// (https://github.com/backube/snapscheduler), and decides which of its snapshots a
// SnapshotSchedule can adopt. It reads and writes nothing.
//
//	convert.go  a schedule of snapscheduler as a SnapshotSchedule
//	adopt.go    the patch that lets a SnapshotSchedule adopt a snapshot
//	peer.go     the names of snapscheduler, and the patch that disables a schedule
package migrate
