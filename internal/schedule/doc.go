// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule calculates when the snapshots of a PVC are due.
//
// A Rule is what the spec says: an interval, or a cron line in a time zone. A
// Timeline is a Rule applied to one PVC, with its anchor and its jitter: an
// ordered, endless sequence of slots. Criteria add what else decides (requested
// snapshots, suspend, snapshotTTL, startingDeadline) and return, for a given now,
// which slot is current and which is next.
//
//	rule.go      interval and cron rules; when a cron rule fires, through daylight saving time
//	cron.go      a cron line on a clock without a time zone
//	zone.go      time zones: local time to instant and back
//	timeline.go  the slots of one PVC
//	slots.go     the current, next and previous slot
//	jitter.go    the offset of a PVC
//	duration.go  the durations of the spec
//
// Nothing here reads a clock: now is always a parameter. Slots are whole seconds
// in UTC. Every limit in this program is half-open: a thing of age a is within a
// limit l while a < l, and beyond it once a == l.
package schedule
