// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the tests must not depend on the machine's zones

	"pgregory.net/rapid"
)

// zones have unusual changes of the clock.
var zones = []string{
	"UTC",
	"America/New_York",
	"Europe/Oslo",
	"Europe/Dublin",       // winter time has the negative saving
	"Australia/Lord_Howe", // half an hour
	"Africa/Casablanca",   // back an hour for Ramadan
	"America/Sao_Paulo",   // at midnight, until 2019
	"America/St_Johns",    // a minute past midnight, until 2011
	"Asia/Kathmandu",      // +5:45
	"Pacific/Apia",        // has no 30 December 2011
	"Asia/Manila",         // has no 31 December 1844
	"America/Juneau",      // has 18 October 1867 twice
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// changes returns the instants in [from, to) at which a zone's offset changes.
func changes(loc *time.Location, from, to time.Time) []time.Time {
	var all []time.Time
	for t := from.In(loc); ; {
		_, end := zoneBounds(t)
		if end.IsZero() || !end.Before(to) {
			return all
		}
		if offsetAt(end, loc) != offsetAt(end.Add(-1), loc) {
			all = append(all, end)
		}
		t = end
	}
}

func TestLoadZoneAcceptsIANANames(t *testing.T) {
	tests := map[string]struct {
		name    string
		want    string
		wantErr bool
	}{
		"empty is UTC":                {name: "", want: "UTC"},
		"UTC":                         {name: "UTC", want: "UTC"},
		"IANA":                        {name: "Europe/Oslo", want: "Europe/Oslo"},
		"Local is rejected":           {name: "Local", wantErr: true},
		"local is rejected":           {name: "local", wantErr: true},
		"an unknown name is rejected": {name: "Mars/Olympus", wantErr: true},
		"a path is rejected":          {name: "../../etc/passwd", wantErr: true},
		"an offset is rejected":       {name: "+02:00", wantErr: true},
		"an abbreviation is rejected": {name: "CEST", wantErr: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			loc, err := LoadZone(tc.name)
			if (err != nil) != tc.wantErr {
				t.Fatalf("LoadZone(%q) = %v, %v", tc.name, loc, err)
			}
			if err == nil && loc.String() != tc.want {
				t.Errorf("LoadZone(%q) = %v, want %v", tc.name, loc, tc.want)
			}
		})
	}
}

func TestFirstInstantOfWallTime(t *testing.T) {
	tests := map[string]struct {
		zone string
		wall string
		want string // the instant at which it is first shown
	}{
		"an ordinary time":           {"Europe/Oslo", "2026-06-01 12:00", "2026-06-01T10:00:00Z"},
		"before a gap":               {"America/New_York", "2026-03-08 01:59", "2026-03-08T06:59:00Z"},
		"the start of a gap":         {"America/New_York", "2026-03-08 02:00", "2026-03-08T07:00:00Z"},
		"inside a gap":               {"America/New_York", "2026-03-08 02:30", "2026-03-08T07:00:00Z"},
		"the end of a gap":           {"America/New_York", "2026-03-08 03:00", "2026-03-08T07:00:00Z"},
		"before an overlap":          {"America/New_York", "2026-11-01 00:59", "2026-11-01T04:59:00Z"},
		"inside an overlap":          {"America/New_York", "2026-11-01 01:30", "2026-11-01T05:30:00Z"},
		"after an overlap":           {"America/New_York", "2026-11-01 02:00", "2026-11-01T07:00:00Z"},
		"a gap of half an hour":      {"Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03T15:30:00Z"},
		"an overlap of half an hour": {"Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04T14:45:00Z"},
		"midnight in a gap":          {"America/Sao_Paulo", "2018-11-04 00:00", "2018-11-04T03:00:00Z"},
		"a skipped day":              {"Pacific/Apia", "2011-12-30 12:00", "2011-12-30T10:00:00Z"},
		"a repeated day":             {"America/Juneau", "1867-10-18 12:00", "1867-10-17T20:57:41Z"},
		"after a skipped day":        {"Pacific/Apia", "2011-12-31 00:00", "2011-12-30T10:00:00Z"},
		"before a skipped day":       {"Pacific/Apia", "2011-12-29 23:59", "2011-12-30T09:59:00Z"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := firstInstant(wall(t, tc.wall), zone(t, tc.zone))
			if got.Format(time.RFC3339) != tc.want {
				t.Errorf("firstInstant(%s) = %s, want %s", tc.wall, got.Format(time.RFC3339), tc.want)
			}
		})
	}
}

// While 01:00 to 02:00 is repeated, the clock has shown all of it before.
func TestLatestWallIsConstantInAnOverlap(t *testing.T) {
	loc := zone(t, "America/New_York")
	change := time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)
	end := wall(t, "2026-11-01 02:00")
	for _, tc := range []struct {
		after time.Duration
		want  time.Time
	}{
		{-time.Minute, end.Add(-time.Minute)},
		{0, end.Add(-1)},
		{30 * time.Minute, end.Add(-1)},
		{time.Hour, end},
		{90 * time.Minute, end.Add(30 * time.Minute)},
	} {
		if got := latestWall(change.Add(tc.after), loc); !got.Equal(tc.want) {
			t.Errorf("latestWall %v after the change = %v, want %v", tc.after, got, tc.want)
		}
	}
}

// firstInstant(w) <= t if and only if w <= latestWall(t): Rule's search for fixed
// hours depends on it. Around every change of the zones since 1840.
func TestFirstInstantIsInverseOfLatestWall(t *testing.T) {
	at := make(map[string][]time.Time)
	for _, name := range zones {
		at[name] = append(changes(zone(t, name), time.Date(1840, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)),
			time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	near := rapid.Int64Range(-2*24*60*60, 2*24*60*60)
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(zones).Draw(rt, "zone")
		loc := zone(t, name)
		change := rapid.SampledFrom(at[name]).Draw(rt, "change")
		instant := change.Add(time.Duration(near.Draw(rt, "instant")) * time.Second)
		w := change.Add(time.Duration(near.Draw(rt, "wall"))*time.Second + offsetAt(change, loc)).UTC()

		shown, seen := firstInstant(w, loc), latestWall(instant, loc)
		if !shown.After(instant) != !w.After(seen) {
			rt.Fatalf("%s: firstInstant(%v) = %v, latestWall(%v) = %v", name, w, shown, instant, seen)
		}
	})
}

// A loop from end to end advances, and no offset changes in between. With
// time.ZoneBounds it would be stuck on 31 December 2040 and 2096.
func TestZoneBoundsContainTheirTime(t *testing.T) {
	for _, name := range zones {
		loc := zone(t, name)
		for _, year := range []int{1867, 2026, 2040, 2096} {
			from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
			for at := from; at.Before(from.AddDate(1, 0, 1)); at = at.Add(time.Hour) {
				start, end := zoneBounds(at.In(loc))
				if (!start.IsZero() && start.After(at)) || (!end.IsZero() && !end.After(at)) {
					t.Fatalf("%s: %v is not between %v and %v", name, at.In(loc), start, end)
				}
				if !end.IsZero() && offsetAt(end.Add(-1), loc) != offsetAt(at, loc) {
					t.Fatalf("%s: the offset changes between %v and %v", name, at.In(loc), end)
				}
			}
		}
	}
}

func TestChangesReturnsEveryChange(t *testing.T) {
	got := changes(zone(t, "America/New_York"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	want := []time.Time{time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC)}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("changes = %v, want %v", got, want)
	}
}
