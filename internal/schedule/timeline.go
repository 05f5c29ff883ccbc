// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// Timeline is a Rule as one PVC sees it: an ordered, endless set of slots.
//
//   - Interval: slot n is anchor + offset + n × interval, n >= 0. The first slot
//     is the anchor plus the offset, so that a new PVC is due at once.
//   - Cron: the rule's firings plus the offset, later than the anchor.
type Timeline struct {
	rule   Rule
	anchor time.Time
	offset time.Duration
}

// Timeline is the rule as seen by a PVC with this anchor (the later of the
// schedule's and the PVC's creationTimestamp) and this offset (its Jitter, 0 or
// more, whole seconds).
func (r Rule) Timeline(anchor time.Time, offset time.Duration) Timeline {
	return Timeline{rule: r, anchor: anchor, offset: offset}
}

// Latest is the newest slot at or before now; false while there is none yet.
func (t Timeline) Latest(now time.Time) (time.Time, bool) {
	if t.rule.interval > 0 {
		first, step := t.steps()
		since := now.Unix() - first
		if since < 0 {
			return time.Time{}, false
		}
		return time.Unix(first+since-since%step, 0).UTC(), true
	}
	at, ok := t.rule.lastCron(now.Add(-t.offset))
	slot := at.Add(t.offset)
	if !ok || !slot.After(t.anchor) {
		return time.Time{}, false
	}
	return slot, true
}

// Next is the earliest slot after a time. A timeline has no end; false means
// only that the times asked about are beyond what the calendar can say.
func (t Timeline) Next(after time.Time) (time.Time, bool) {
	if t.rule.interval > 0 {
		first, step := t.steps()
		since := after.Unix() - first
		if since < 0 {
			return time.Unix(first, 0).UTC(), true
		}
		return time.Unix(first+since-since%step+step, 0).UTC(), true
	}
	if after.Before(t.anchor) {
		after = t.anchor
	}
	at, ok := t.rule.nextCron(after.Add(-t.offset))
	if !ok {
		return time.Time{}, false
	}
	return at.Add(t.offset), true
}

// Previous is the slot before a slot; false where that was the first.
func (t Timeline) Previous(slot time.Time) (time.Time, bool) {
	return t.Latest(slot.Add(-time.Second))
}

// steps are the first slot of an interval rule, in Unix seconds, and the
// interval in seconds. Seconds rather than time.Duration, which ends after 292
// years.
func (t Timeline) steps() (first, step int64) {
	return t.anchor.Add(t.offset).Unix(), int64(t.rule.interval / time.Second)
}
