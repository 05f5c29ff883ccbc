// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package retention decides, for the snapshots of one PVC (a series), what is
// kept, what is deleted and whether a new one may be taken.
//
//	Take:   slot, snapshots, now         → may a snapshot be created for the slot
//	Decide: policy, now, PVC, snapshots  → keep or delete, and why, for each
//
// Everything is a pure function of values: no clock, no logging, no Kubernetes.
// The contract is the section "Retention" of the design (and "One at a time per
// PVC" of "Slots"); comments name the clause they follow.
//
// All limits are half-open, as in package schedule: a snapshot of age a is
// within a limit l while a < l, and beyond it from a == l on.
//
// # Two orders
//
// "Newest" is the contract's: highest scheduled-at, then creationTimestamp,
// then name. The floor, keep.last and the cap go by it. The calendar tiers put
// snapshots into hours, days and so on by creationTimestamp. Neither looks at
// status.creationTime, which drivers get wrong: with a driver that is two hours
// ahead, say, tiers that went by it would see two snapshots in one hour and
// drop the newer. It counts for age alone, where it can only make a snapshot
// younger.
package retention
