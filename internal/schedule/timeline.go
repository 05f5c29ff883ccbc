// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// Timeline is a Rule applied to one PVC: an ordered, endless sequence of slots.
//
//   - Interval: slot n is anchor + offset + n × interval, n >= 0. The first slot
//     is the anchor plus the offset, so that a new PVC is due at once.
//   - Cron: the rule's firings plus the offset that are later than the anchor.
type Timeline struct {
	rule   Rule
	anchor time.Time
	offset time.Duration
	// requests is the time before which a requested slot is ignored.
	requests time.Time
}

// Timeline returns the timeline of a PVC. The anchor is the later of the
// creationTimestamps of schedule and PVC; the offset is the PVC's Jitter, 0 or
// more in whole seconds.
func (r Rule) Timeline(anchor time.Time, offset time.Duration) Timeline {
	return Timeline{rule: r, anchor: anchor, offset: offset, requests: anchor}
}

// Continue returns the timeline of a PVC that has a snapshot of an earlier one, which was taken for a slot:
// its interval slots are that slot plus n × interval, n >= 0, without the offset, and its cron slots are those
// later than that slot. A zero slot changes nothing.
func (t Timeline) Continue(slot time.Time) Timeline {
	if slot.IsZero() {
		return t
	}
	t.anchor = slot
	if t.rule.interval > 0 {
		t.offset = 0
	}
	return t
}

// Since returns the timeline with the slots that it would have had since an earlier time.
func (t Timeline) Since(earlier time.Time) Timeline {
	switch {
	case !earlier.Before(t.anchor):
	case t.rule.interval > 0: // in seconds: any time may be asked for
		first, interval := t.intervalSeconds()
		n := max(first-earlier.Unix(), 0)/interval + 1
		t.anchor = time.Unix(first-n*interval, 0).UTC().Add(-t.offset)
	default:
		t.anchor = earlier
	}
	return t
}

// Latest returns the newest slot at or before now, or false if there is none yet.
func (t Timeline) Latest(now time.Time) (time.Time, bool) {
	if t.rule.interval > 0 {
		first, interval := t.intervalSeconds()
		since := now.Unix() - first
		if since < 0 {
			return time.Time{}, false
		}
		return time.Unix(first+since-since%interval, 0).UTC(), true
	}
	at, ok := t.rule.lastCron(now.Add(-t.offset))
	slot := at.Add(t.offset)
	if !ok || !slot.After(t.anchor) {
		return time.Time{}, false
	}
	return slot, true
}

// Next returns the earliest slot after a time. A timeline has no end: the result
// is false only for times beyond what the calendar can represent.
func (t Timeline) Next(after time.Time) (time.Time, bool) {
	if t.rule.interval > 0 {
		first, interval := t.intervalSeconds()
		since := after.Unix() - first
		if since < 0 {
			return time.Unix(first, 0).UTC(), true
		}
		return time.Unix(first+since-since%interval+interval, 0).UTC(), true
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

// Previous returns the slot before a slot, or false if that is the first.
func (t Timeline) Previous(slot time.Time) (time.Time, bool) {
	return t.Latest(slot.Add(-time.Second))
}

// following returns when the interval has passed since a slot of another timeline of the rule, or its next cron slot.
func (t Timeline) following(slot time.Time) (time.Time, bool) {
	if t.rule.interval > 0 {
		return slot.Add(t.rule.interval), true
	}
	return t.Next(slot)
}

// intervalSeconds returns the first slot of an interval rule in Unix seconds, and
// the interval in seconds. A time.Duration would overflow after 292 years.
func (t Timeline) intervalSeconds() (first, interval int64) {
	return t.anchor.Add(t.offset).Unix(), int64(t.rule.interval / time.Second)
}
