// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retention decides, for the snapshots of one PVC (a series), or of a group of them, which are
// kept, which are deleted and why, and whether a new one is taken.
//
// Decide is a pure function of (policy, now, series): it reads no clock, logs
// nothing and knows nothing of Kubernetes.
//
//	policy.go    what the spec says of retention, and which part applies to a series
//	snapshot.go  what a decision reads of one VolumeSnapshot: its slot, its age
//	state.go     how far a snapshot has come: ready, in progress, failed
//	series.go    the snapshots of one PVC: the newest, whether a slot is covered
//	decide.go    Decide, and the verdict on each snapshot by holds and age
//	take.go      whether a snapshot is taken for the current slot
//	tiers.go     keep.last and the calendar tiers
//	cap.go       maxCount
//	group.go     DecideGroup: group snapshots, as units
//	recovering.go what is spared because snapshots may become ready again
//	floor.go     minReady, and the snapshots that newer ready ones supersede
//	verified.go  drills, and minVerified
//	verdict.go   the reasons to keep or to delete
//
// All limits are half-open, as in package schedule: a snapshot of age a is
// within a limit l while a < l, and beyond it once a == l.
//
// # Two orders
//
// The newest snapshot of a series has the latest scheduled-at, then
// creationTimestamp, then name. The floor, keep.last and the cap go by that
// order. The calendar tiers assign snapshots to hours, days and so on by
// scheduled-at too, but by creationTimestamp if that is earlier by more than clocks
// may differ: a place must not depend on what time it is. Neither order reads status.creationTime, because
// drivers get it wrong: if a driver's clock is two hours ahead, tiers that went by
// it would see two snapshots in one hour and delete the newer. Only ages read it,
// and there it can only make a snapshot younger.
package retention
