// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits says which snapshots may be created now: it bounds how many that count
// towards one limit are in flight, that is, created and uncut. It is pure: times and
// events go in, answers and the keys to wake come out. What it knows comes from the
// snapshots that exist, so a restart loses nothing.
//
//	limits.go  all limits, and what may happen to snapshots
//	limit.go   what is in flight under one limit, and when that ends
//	queue.go   the keys that wait, and which is next
package limits
