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
