// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule is pure time: when the snapshots of a PVC are due.
//
// A Rule is what a schedule says (an interval, or a cron line in a zone). A
// Rule seen from one PVC, with its anchor and its offset (jitter), is a
// Timeline: an ordered, endless set of slots. Terms add what else decides (run
// now, suspend, snapshotTTL, startingDeadline) and say, for a given now, which
// slot is current and which comes next.
//
// Nothing here reads a clock: every decision takes now as a value. Slots are
// whole seconds in UTC. Every limit in this program is half-open: a thing of
// age a is within a limit l while a < l, and beyond it from a == l on, so that
// a thing that ends at an instant has ended at that instant.
package schedule
