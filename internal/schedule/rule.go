// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"
)

// Rule is what a spec says about time: an interval, or a cron line in a time
// zone. It is the same for all PVCs, immutable, and safe for concurrent use. Use
// Every or ParseCron to make one.
//
// Daylight saving time is handled as in Vixie cron. A line with fixed hours fires
// once for each local time: at the end of the gap for a time that does not exist,
// at the first of the two instants for a time that exists twice. Several times
// that fall on one instant are one slot. A line whose hour field begins with *
// fires whenever the local time matches, so that "0 * * * *" fires every 60
// minutes through both changes.
type Rule struct {
	interval time.Duration // 0: cron
	cron     cronLine
	loc      *time.Location
}

// Every returns the rule for spec.snapshotInterval. The interval must be a whole
// number of seconds, 1s or more.
func Every(interval time.Duration) (Rule, error) {
	if interval < time.Second || interval%time.Second != 0 {
		return Rule{}, fmt.Errorf("interval %v: must be whole seconds, 1s or more; write for example 6h", interval)
	}
	return Rule{interval: interval}, nil
}

// ParseCron returns the rule for spec.schedule: five fields as for CronJob, or
// @hourly, @daily, @weekly, @monthly or @yearly, in the time zone loc (nil: UTC).
// A line that never fires, such as 30 February, is an error.
func ParseCron(text string, loc *time.Location) (Rule, error) {
	l, err := parseCronLine(text)
	if err != nil {
		return Rule{}, err
	}
	if loc == nil {
		loc = time.UTC
	}
	return Rule{cron: l, loc: loc}, nil
}

// Interval returns the interval of an interval rule, and 0 for cron. A jitter
// must be shorter than the interval.
func (r Rule) Interval() time.Duration { return r.interval }

// nextCron returns the first firing after t.
func (r *Rule) nextCron(t time.Time) (time.Time, bool) {
	if !r.cron.wildcardHour {
		// firstInstant(w) > t if and only if w > latestWall(t), and firstInstant
		// never decreases: the next local time gives the next instant.
		wall, ok := r.cron.next(latestWall(t, r.loc))
		if !ok {
			return time.Time{}, false
		}
		return firstInstant(wall, r.loc), true
	}
	// Between two changes of the zone's offset the clock is regular.
	t = t.In(r.loc)
	for after := t; ; {
		offset := offsetAt(t, r.loc)
		wall, ok := r.cron.next(after.Add(offset).UTC())
		if !ok {
			return time.Time{}, false
		}
		at := wall.Add(-offset)
		_, end := zoneBounds(t)
		if end.IsZero() || at.Before(end) {
			return at, true
		}
		t, after = end, end.Add(-1) // -1: the line may fire at the end itself
	}
}

// lastCron returns the last firing at or before t.
func (r *Rule) lastCron(t time.Time) (time.Time, bool) {
	if !r.cron.wildcardHour {
		wall, ok := r.cron.last(latestWall(t, r.loc))
		if !ok {
			return time.Time{}, false
		}
		return firstInstant(wall, r.loc), true
	}
	for t = t.In(r.loc); ; {
		offset := offsetAt(t, r.loc)
		wall, ok := r.cron.last(t.Add(offset).UTC())
		if !ok {
			return time.Time{}, false
		}
		at := wall.Add(-offset)
		start, _ := zoneBounds(t)
		if start.IsZero() || !at.Before(start) {
			return at, true
		}
		t = start.Add(-1)
	}
}
