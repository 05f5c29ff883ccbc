// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits says which snapshots may be created now. It bounds how many of a driver
// are in flight (created and uncut) and pending (not finished), how many a volume has, and
// how far apart they are. It is pure: times and events go in, answers and the keys to wake
// come out. What it knows comes from the snapshots that exist, so a restart loses nothing.
//
//	types.go   what is said and asked of snapshots, and what is answered
//	limits.go  all limits, and what may happen to snapshots
//	limit.go   what counts towards the limits of one driver, and who waits
//	bound.go   what counts towards one limit, and when that ends
//	reserve.go for which namespace's group a driver is reserved
//	volume.go  what the volume of a PVC takes, and who waits for it
//	queue.go   the keys that wait for a driver, and which is next
//	ring.go    members in the order in which they are next, and heaps whose items can be removed
package limits
