// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore decides how snapshots are restored: which snapshot holds the
// data of a time, which PVC it becomes, and why it must not. It reads and writes
// nothing.
//
//	choose.go  the newest ready snapshot of a PVC at a time
//	set.go     the snapshots of all PVCs of a schedule at a time
//	claim.go   the PVC to create, with its size, class and modes
//	check.go   whether a snapshot can be restored, and by which driver
package restore
