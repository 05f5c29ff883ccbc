// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEveryAcceptsWholeSeconds(t *testing.T) {
	for name, tc := range map[string]struct {
		interval time.Duration
		wantErr  bool
	}{
		"six hours":              {6 * time.Hour, false},
		"one second":             {time.Second, false},
		"zero":                   {0, true},
		"negative":               {-time.Hour, true},
		"less than a second":     {time.Second - 1, true},
		"a fraction of a second": {1500 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Every(tc.interval)
			if (err != nil) != tc.wantErr {
				t.Fatalf("Every(%v) = %v", tc.interval, err)
			}
			if err == nil && r.Interval() != tc.interval {
				t.Errorf("Interval() = %v", r.Interval())
			}
		})
	}
}

// Contract: API-4.
func TestParseCronRejectsALineThatNeverFires(t *testing.T) {
	if _, err := ParseCron("0 0 30 2 *", time.UTC); err == nil || !strings.Contains(err.Error(), "never fires") {
		t.Errorf("ParseCron = %v", err)
	}
}

func TestIntervalIsZeroForCron(t *testing.T) {
	r, err := ParseCron("@hourly", nil)
	if err != nil || r.Interval() != 0 {
		t.Errorf("ParseCron = %v, Interval %v, want 0", err, r.Interval())
	}
}

// Times are local to the zone.
//
// Contract: SLOT-3.
func TestCronFiresThroughDaylightSavingTime(t *testing.T) {
	const layout = "01-02 15:04 -0700"
	tests := map[string]struct {
		zone, line, from, until string
		want                    []string
	}{
		"a time that does not exist fires once, at the end of the gap": {
			"America/New_York", "30 2 * * *", "2026-03-07T00:00:00-05:00", "2026-03-10T00:00:00-04:00",
			[]string{"03-07 02:30 -0500", "03-08 03:00 -0400", "03-09 02:30 -0400"},
		},
		"several times that do not exist fire once": {
			"America/New_York", "*/20 2 * * *", "2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00",
			[]string{"03-08 03:00 -0400"},
		},
		"a time at the end of the gap fires once with them": {
			"America/New_York", "0 2,3 * * *", "2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00",
			[]string{"03-08 03:00 -0400"},
		},
		"a time that exists twice fires once, at the first": {
			"America/New_York", "30 1 * * *", "2026-11-01T00:00:00-04:00", "2026-11-03T00:00:00-05:00",
			[]string{"11-01 01:30 -0400", "11-02 01:30 -0500"},
		},
		"fixed hours do not fire while an hour is repeated": {
			"America/New_York", "*/30 0-23 * * *", "2026-11-01T00:59:00-04:00", "2026-11-01T02:31:00-05:00",
			[]string{"11-01 01:00 -0400", "11-01 01:30 -0400", "11-01 02:00 -0500", "11-01 02:30 -0500"},
		},
		"a wildcard hour fires every hour through the gap": {
			"America/New_York", "30 * * * *", "2026-03-08T00:00:00-05:00", "2026-03-08T05:00:00-04:00",
			[]string{"03-08 00:30 -0500", "03-08 01:30 -0500", "03-08 03:30 -0400", "03-08 04:30 -0400"},
		},
		"a wildcard hour fires every hour through the overlap": {
			"America/New_York", "30 * * * *", "2026-11-01T00:00:00-04:00", "2026-11-01T03:00:00-05:00",
			[]string{"11-01 00:30 -0400", "11-01 01:30 -0400", "11-01 01:30 -0500", "11-01 02:30 -0500"},
		},
		"@hourly fires every hour through the overlap": {
			"America/New_York", "@hourly", "2026-10-31T23:59:00-04:00", "2026-11-01T02:30:00-05:00",
			[]string{"11-01 00:00 -0400", "11-01 01:00 -0400", "11-01 01:00 -0500", "11-01 02:00 -0500"},
		},
		"a wildcard hour with a step fires at matching local times": {
			"America/New_York", "0 */2 * * *", "2026-03-07T23:59:00-05:00", "2026-03-08T07:00:00-04:00",
			[]string{"03-08 00:00 -0500", "03-08 04:00 -0400", "03-08 06:00 -0400"},
		},
		"@daily fires after a midnight that does not exist": {
			"America/Sao_Paulo", "@daily", "2018-11-03T00:00:00-03:00", "2018-11-05T12:00:00-02:00",
			[]string{"11-04 01:00 -0200", "11-05 00:00 -0200"},
		},
		"@daily fires once for a midnight that exists twice": {
			"America/St_Johns", "@daily", "2010-11-06T12:00:00-02:30", "2010-11-08T12:00:00-03:30",
			[]string{"11-07 00:00 -0230", "11-08 00:00 -0330"},
		},
		"a fixed time in a gap of half an hour fires once": {
			"Australia/Lord_Howe", "15 2 * * *", "2026-10-03T12:00:00+10:30", "2026-10-05T12:00:00+11:00",
			[]string{"10-04 02:30 +1100", "10-05 02:15 +1100"},
		},
		"a wildcard hour fires twice in an overlap of half an hour": {
			"Australia/Lord_Howe", "*/15 * * * *", "2026-04-05T01:20:00+11:00", "2026-04-05T02:01:00+10:30",
			[]string{"04-05 01:30 +1100", "04-05 01:45 +1100", "04-05 01:30 +1030", "04-05 01:45 +1030", "04-05 02:00 +1030"},
		},
		"a skipped day fires once, as the next begins": {
			"Pacific/Apia", "0 12 * * *", "2011-12-29T00:00:00-10:00", "2012-01-01T00:00:00+14:00",
			[]string{"12-29 12:00 -1000", "12-31 00:00 +1400", "12-31 12:00 +1400"},
		},
		"fixed hours fire on 31 December 2040": {
			"America/New_York", "30 22 * * *", "2040-12-30T23:00:00-05:00", "2041-01-02T00:00:00-05:00",
			[]string{"12-31 22:30 -0500", "01-01 22:30 -0500"},
		},
		"a wildcard hour fires on 31 December 2040": {
			"America/New_York", "0 */8 * * *", "2040-12-31T01:00:00-05:00", "2041-01-01T09:00:00-05:00",
			[]string{"12-31 08:00 -0500", "12-31 16:00 -0500", "01-01 00:00 -0500", "01-01 08:00 -0500"},
		},
		"an offset of 5:45": {
			"Asia/Kathmandu", "0 0 * * *", "2026-01-01T12:00:00+05:45", "2026-01-03T12:00:00+05:45",
			[]string{"01-02 00:00 +0545", "01-03 00:00 +0545"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			loc := zone(t, tc.zone)
			r, err := ParseCron(tc.line, loc)
			if err != nil {
				t.Fatal(err)
			}
			from, _ := time.Parse(time.RFC3339, tc.from)
			until, _ := time.Parse(time.RFC3339, tc.until)
			var got []string
			for at, _ := r.nextCron(from); !at.After(until); at, _ = r.nextCron(at) {
				got = append(got, at.In(loc).Format(layout))
				if last, ok := r.lastCron(at.Add(time.Minute - 1)); !ok || !last.Equal(at) {
					t.Errorf("last within a minute of %v = %v, %v", at, last, ok)
				}
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("fires at %q, want %q", got, tc.want)
			}
		})
	}
}

// firings is the definition, by a clock that advances minute by minute as Vixie
// cron's: a line with a wildcard hour fires at each minute that the clock shows; a
// line with fixed hours at each minute that it shows or skips for the first time.
func firings(r *Rule, from, until time.Time) []time.Time {
	fires := func(w time.Time) bool {
		l := &r.cron
		return l.minute>>w.Minute()&1 == 1 && l.hour>>w.Hour()&1 == 1 && l.month>>w.Month()&1 == 1 && l.onDay(w)
	}
	var all []time.Time
	seen := from.Add(offsetAt(from, r.loc) - time.Minute).UTC() // the latest minute shown or skipped
	for t := from; t.Before(until); t = t.Add(time.Minute) {
		shown := t.Add(offsetAt(t, r.loc)).UTC()
		fired := r.cron.wildcardHour && fires(shown)
		for ; seen.Before(shown); seen = seen.Add(time.Minute) {
			fired = fired || !r.cron.wildcardHour && fires(seen.Add(time.Minute))
		}
		if fired {
			all = append(all, t)
		}
	}
	return all
}

// In five days around a change of the clock, and around some other days.
//
// Contract: SLOT-2.
func TestCronAgreesWithMinuteByMinuteClock(t *testing.T) {
	at := make(map[string][]time.Time)
	var names []string
	for _, name := range zones {
		if name == "Asia/Manila" || name == "America/Juneau" {
			continue // their changes of 1844 and 1867 are not whole minutes
		}
		names = append(names, name)
		at[name] = append(changes(zone(t, name), time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2035, 1, 1, 0, 0, 0, 0, time.UTC)),
			time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), time.Date(2040, 12, 31, 0, 0, 0, 0, time.UTC))
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom(names).Draw(rt, "zone")
		text := strings.Join([]string{
			drawField(rt, "minute", 0, 59), drawField(rt, "hour", 0, 23), drawField(rt, "day", 1, 28), "*", drawField(rt, "weekday", 0, 6),
		}, " ")
		r, err := ParseCron(text, zone(t, name))
		if err != nil {
			rt.Fatal(err)
		}
		from := rapid.SampledFrom(at[name]).Draw(rt, "change").Add(-2 * 24 * time.Hour)
		until := from.Add(5 * 24 * time.Hour)
		want := firings(&r, from, until)

		before := from.Add(-1)
		for _, w := range want {
			got, ok := r.nextCron(before)
			if !ok || !got.Equal(w) {
				rt.Fatalf("%s %q: next after %v is %v, want %v", name, text, before.In(r.loc), got.In(r.loc), w.In(r.loc))
			}
			if !before.Before(from) {
				if last, ok := r.lastCron(w.Add(-1)); !ok || !last.Equal(before) {
					rt.Fatalf("%s %q: last before %v is %v, want %v", name, text, w.In(r.loc), last.In(r.loc), before.In(r.loc))
				}
			}
			if last, ok := r.lastCron(w); !ok || !last.Equal(w) {
				rt.Fatalf("%s %q: last at %v is %v", name, text, w.In(r.loc), last.In(r.loc))
			}
			before = w
		}
		if got, _ := r.nextCron(before); got.Before(until) {
			rt.Fatalf("%s %q: next after %v is %v, want none before %v", name, text, before.In(r.loc), got.In(r.loc), until.In(r.loc))
		}
	})
}
