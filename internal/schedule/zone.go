// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"strings"
	"time"
)

// LoadZone returns an IANA time zone by name; the empty name is UTC. "Local" is
// an error, because it may differ between nodes.
func LoadZone(name string) (*time.Location, error) {
	loc, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("unknown time zone %q; write an IANA name such as Europe/Oslo", name)
	}
	return loc, nil
}

// A wall time is the local time in a zone, represented as a time.Time in UTC.
// time.Date cannot convert it to an instant: within a gap or an overlap of
// daylight saving time, its result is not specified.

const (
	// maxOffset is larger than any zone's offset from UTC.
	maxOffset = 24 * time.Hour
	// maxSetBack is more than any zone's clock was ever set back at once.
	maxSetBack = 48 * time.Hour
)

// offsetAt returns the zone's offset from UTC at t.
func offsetAt(t time.Time, loc *time.Location) time.Duration {
	_, seconds := t.In(loc).Zone()
	return time.Duration(seconds) * time.Second
}

// zoneBounds returns a period around t, start included and end excluded, in which
// the zone of t has one offset. A zero time is no bound.
//
// It works around a bug of time.ZoneBounds in Go 1.26: where the zone data end
// with a rule (Go's own from 2038 on, others from today), the end returned for
// 31 December of a leap year is the beginning of that day in UTC. A loop from end
// to end would never get past it.
func zoneBounds(t time.Time) (start, end time.Time) {
	start, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = t.Truncate(24 * time.Hour).Add(24 * time.Hour) // the end of the year
	}
	return start, end
}

// latestWall returns the latest wall time that the zone's clock has shown up to
// and including t. That is the wall time at t, except while an hour is repeated:
// then it is the last instant before the clock was set back.
func latestWall(t time.Time, loc *time.Location) time.Time {
	wall := t.Add(offsetAt(t, loc)).UTC()
	for start, _ := zoneBounds(t.In(loc)); !start.IsZero() && t.Sub(start) < maxSetBack; {
		before := start.Add(-1)
		if shown := before.Add(offsetAt(before, loc)).UTC(); shown.After(wall) {
			wall = shown
		}
		start, _ = zoneBounds(before)
	}
	return wall
}

// firstInstant returns the first instant at which the zone's clock shows wall or
// later: the end of the gap for a time that does not exist, the first of the two
// for a time that exists twice. firstInstant(w) <= t if and only if
// w <= latestWall(t).
func firstInstant(wall time.Time, loc *time.Location) time.Time {
	t := wall.Add(-maxOffset).In(loc) // too early to show wall in any zone
	for {
		shows := wall.Add(-offsetAt(t, loc))
		if shows.Before(t) {
			shows = t // the clock skipped wall at t
		}
		_, end := zoneBounds(t)
		if end.IsZero() || shows.Before(end) {
			return shows.UTC()
		}
		t = end
	}
}
