// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"time"
)

// LoadZone finds an IANA time zone by name; the empty name is UTC. The zone of
// the machine ("Local") is refused: it would differ between nodes.
func LoadZone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("unknown time zone %q; write an IANA name such as Europe/Oslo", name)
	}
	return loc, nil
}

// A wall time is what a clock in a zone shows, written as a time.Time in UTC.
// time.Date is of no use to turn it into an instant: which one it picks in a
// gap or an overlap of daylight saving time is not promised.

const (
	// maxOffset is more than any zone is ahead of UTC.
	maxOffset = 24 * time.Hour
	// maxSetBack is more than any zone's clock was ever set back at once.
	maxSetBack = 48 * time.Hour
)

// offsetAt is how far the zone's clock is ahead of UTC at t.
func offsetAt(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// bounds is a stretch of time from start (included) to end (excluded) around t,
// in which the zone of t has one offset. A zero time is no bound.
//
// It is ZoneBounds, but for a fault of that in Go 1.26: where the zone data have
// no more than a rule (Go's own from 2038 on, others from today), the end that
// it gives for 31 December of a leap year is that day's beginning in UTC.
// Whoever walks on from end to end would never get past it.
func bounds(t time.Time) (start, end time.Time) {
	start, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = t.Truncate(24 * time.Hour).Add(24 * time.Hour) // the end of the year
	}
	return start, end
}

// reached is the latest wall time that the zone's clock has shown up to and at
// t. It is what the clock shows, but while an hour is repeated it stands still
// at the last instant before the clock was set back.
func reached(t time.Time, loc *time.Location) time.Time {
	wall := t.Add(offsetAt(t, loc)).UTC()
	for start, _ := bounds(t.In(loc)); !start.IsZero() && t.Sub(start) < maxSetBack; {
		before := start.Add(-1)
		if shown := before.Add(offsetAt(before, loc)).UTC(); shown.After(wall) {
			wall = shown
		}
		start, _ = bounds(before)
	}
	return wall
}

// firstShowing is the first instant at which the zone's clock shows wall or
// later: the end of the gap for a time that does not exist, the first of the
// two for one that exists twice. firstShowing(w) <= t exactly if
// w <= reached(t).
func firstShowing(wall time.Time, loc *time.Location) time.Time {
	t := wall.Add(-maxOffset).In(loc) // too early for any zone to show wall
	for {
		shows := wall.Add(-offsetAt(t, loc))
		if shows.Before(t) {
			shows = t // the clock jumped over wall just now
		}
		_, end := bounds(t)
		if end.IsZero() || shows.Before(end) {
			return shows.UTC()
		}
		t = end
	}
}
