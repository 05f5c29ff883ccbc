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

package schedule

import (
	"fmt"
	"strings"
	"time"
)

// LoadZone finds an IANA time zone by name; the empty name is UTC. The zone of
// the machine ("Local") is refused: it would differ between nodes.
func LoadZone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("time zone %q depends on the machine; write for example Europe/Oslo", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w; write for example Europe/Oslo", name, err)
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

// reached is the latest wall time that the zone's clock has shown up to and at
// t. It is what the clock shows, but while an hour is repeated it stands still
// at the last instant before the clock was set back.
func reached(t time.Time, loc *time.Location) time.Time {
	wall := t.Add(offsetAt(t, loc)).UTC()
	for start, _ := t.In(loc).ZoneBounds(); !start.IsZero() && t.Sub(start) < maxSetBack; {
		before := start.Add(-1)
		if shown := before.Add(offsetAt(before, loc)).UTC(); shown.After(wall) {
			wall = shown
		}
		start, _ = before.ZoneBounds()
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
		_, end := t.ZoneBounds()
		if end.IsZero() || shows.Before(end) {
			return shows.UTC()
		}
		t = end
	}
}
