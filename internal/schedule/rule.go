// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"time"
)

// Rule is what a schedule says about time: every so often, or a cron line in a
// zone. It is the same for all PVCs, never changes, and may be used from many
// goroutines. Only Every and ParseCron make a Rule that works.
//
// Daylight saving time, as Vixie's cron has it: a line with fixed hours fires
// for each local time once, a time that does not exist at the end of the gap,
// one that exists twice at its first showing (several that come to fall on one
// instant are one slot). A line whose hour field begins with * fires whenever
// the clock in the zone shows a matching time, so that "0 * * * *" runs on
// every 60 minutes through both.
type Rule struct {
	interval time.Duration // 0: cron
	cron     line
	loc      *time.Location
}

// Every is the rule of spec.snapshotInterval. An interval that is not a whole
// number of seconds, 1s or more, is an error.
func Every(interval time.Duration) (Rule, error) {
	if interval < time.Second || interval%time.Second != 0 {
		return Rule{}, fmt.Errorf("interval %v: it must be whole seconds, 1s or more; write for example 6h", interval)
	}
	return Rule{interval: interval}, nil
}

// ParseCron is the rule of spec.schedule: five fields as for CronJob, or
// @hourly, @daily, @weekly, @monthly or @yearly, read in the zone loc (nil:
// UTC). A line that never fires, such as 30 February, is an error.
func ParseCron(text string, loc *time.Location) (Rule, error) {
	l, err := parseLine(text)
	if err != nil {
		return Rule{}, err
	}
	if loc == nil {
		loc = time.UTC
	}
	return Rule{cron: l, loc: loc}, nil
}

// Interval is the interval of an interval rule and 0 for cron. A jitter must be
// shorter than it.
func (r Rule) Interval() time.Duration { return r.interval }

// nextCron is the first firing after t.
func (r *Rule) nextCron(t time.Time) (time.Time, bool) {
	if !r.cron.runsOn {
		// firstShowing(w) > t exactly if w > reached(t), and it never falls as
		// w grows: the next wall time gives the next instant.
		wall, ok := r.cron.next(reached(t, r.loc))
		if !ok {
			return time.Time{}, false
		}
		return firstShowing(wall, r.loc), true
	}
	// From one change of the zone's offset to the next the clock is regular.
	t = t.In(r.loc)
	for after := t; ; {
		offset := offsetAt(t, r.loc)
		wall, ok := r.cron.next(after.Add(offset).UTC())
		if !ok {
			return time.Time{}, false
		}
		at := wall.Add(-offset)
		_, end := bounds(t)
		if end.IsZero() || at.Before(end) {
			return at, true
		}
		t, after = end, end.Add(-1) // -1: the end itself may be a firing
	}
}

// lastCron is the last firing not after t.
func (r *Rule) lastCron(t time.Time) (time.Time, bool) {
	if !r.cron.runsOn {
		wall, ok := r.cron.last(reached(t, r.loc))
		if !ok {
			return time.Time{}, false
		}
		return firstShowing(wall, r.loc), true
	}
	for t = t.In(r.loc); ; {
		offset := offsetAt(t, r.loc)
		wall, ok := r.cron.last(t.Add(offset).UTC())
		if !ok {
			return time.Time{}, false
		}
		at := wall.Add(-offset)
		start, _ := bounds(t)
		if start.IsZero() || !at.Before(start) {
			return at, true
		}
		t = start.Add(-1)
	}
}
