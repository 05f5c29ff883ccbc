// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package steps is what the commands of the plugin share that write to a cluster.
//
//	run.go     the runner of everything that is done in steps: it observes, asks what is next, writes, waits and prints
//	patch.go   patches, decided again after a conflict
//	hold.go    a hold, as package holders decides
//	choice.go  which snapshots are restored or verified
//	group.go   those of a group snapshot
//	set.go     those of a schedule at one time
//	plan.go    to which PVCs they are restored
//	follow.go  --wait: what is waited for, and why it does not come
package steps
