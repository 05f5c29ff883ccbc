/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
