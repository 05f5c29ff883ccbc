// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func every(t testing.TB, interval time.Duration) Rule {
	t.Helper()
	r, err := Every(interval)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func cronRule(t testing.TB, text, zoneName string) Rule {
	t.Helper()
	r, err := ParseCron(text, zone(t, zoneName))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Contract: SLOT-1.
func TestTimelineReturnsLatestNextAndPrevious(t *testing.T) {
	const anchor = "2026-01-01T00:10:00Z"
	sixHours, daily := every(t, 6*time.Hour), cronRule(t, "30 2 * * *", "Europe/Oslo") // 01:30 UTC in winter
	tests := map[string]struct {
		rule         Rule
		anchor       string // default: anchor
		offset       time.Duration
		now          string
		wantLatest   string // empty: none
		wantNext     string
		wantPrevious string // before the latest
	}{
		"interval: the first slot is the anchor": {
			rule: sixHours, now: anchor,
			wantLatest: anchor, wantNext: "2026-01-01T06:10:00Z",
		},
		"interval: the first slot is after the offset": {
			rule: sixHours, offset: 5 * time.Minute, now: anchor,
			wantNext: "2026-01-01T00:15:00Z",
		},
		"interval: just before a slot": {
			rule: sixHours, offset: 5 * time.Minute, now: "2026-01-01T06:14:59.999Z",
			wantLatest: "2026-01-01T00:15:00Z", wantNext: "2026-01-01T06:15:00Z",
		},
		"interval: at a slot": {
			rule: sixHours, offset: 5 * time.Minute, now: "2026-01-01T06:15:00Z",
			wantLatest: "2026-01-01T06:15:00Z", wantNext: "2026-01-01T12:15:00Z", wantPrevious: "2026-01-01T00:15:00Z",
		},
		"interval: just after a slot": {
			rule: sixHours, offset: 5 * time.Minute, now: "2026-01-01T06:15:00.001Z",
			wantLatest: "2026-01-01T06:15:00Z", wantNext: "2026-01-01T12:15:00Z", wantPrevious: "2026-01-01T00:15:00Z",
		},
		"interval: many missed slots": {
			rule: sixHours, now: "2027-01-01T00:09:00Z",
			wantLatest: "2026-12-31T18:10:00Z", wantNext: "2027-01-01T00:10:00Z", wantPrevious: "2026-12-31T12:10:00Z",
		},
		"interval: a clock before the anchor": {
			rule: sixHours, now: "1970-01-01T00:00:00Z",
			wantNext: anchor,
		},
		"interval: a clock 800 years later": {
			rule: sixHours, now: "2826-01-01T00:10:00Z",
			wantLatest: "2826-01-01T00:10:00Z", wantNext: "2826-01-01T06:10:00Z", wantPrevious: "2825-12-31T18:10:00Z",
		},
		"interval: an anchor with a fraction": {
			rule: sixHours, anchor: "2026-01-01T00:10:00.7Z", now: "2026-01-01T06:10:00Z",
			wantLatest: "2026-01-01T06:10:00Z", wantNext: "2026-01-01T12:10:00Z", wantPrevious: anchor,
		},
		"cron: none before the first": {
			rule: daily, now: "2026-01-01T01:29:59Z",
			wantNext: "2026-01-01T01:30:00Z",
		},
		"cron: at the first": {
			rule: daily, now: "2026-01-01T01:30:00Z",
			wantLatest: "2026-01-01T01:30:00Z", wantNext: "2026-01-02T01:30:00Z",
		},
		"cron: a firing at the anchor is no slot": {
			rule: daily, anchor: "2026-01-01T01:30:00Z", now: "2026-01-01T01:30:00Z",
			wantNext: "2026-01-02T01:30:00Z",
		},
		"cron: a firing before the anchor is a slot if the offset is not": {
			rule: daily, anchor: "2026-01-01T01:35:00Z", offset: 10 * time.Minute, now: "2026-01-01T01:40:00Z",
			wantLatest: "2026-01-01T01:40:00Z", wantNext: "2026-01-02T01:40:00Z",
		},
		"cron: between a firing and its slot": {
			rule: daily, offset: 10 * time.Minute, now: "2026-01-05T01:39:59Z",
			wantLatest: "2026-01-04T01:40:00Z", wantNext: "2026-01-05T01:40:00Z", wantPrevious: "2026-01-03T01:40:00Z",
		},
		"cron: a clock before the anchor": {
			rule: daily, now: "1970-01-01T00:00:00Z",
			wantNext: "2026-01-01T01:30:00Z",
		},
		"cron: an hour earlier in summer": {
			rule: daily, now: "2026-07-01T12:00:00Z",
			wantLatest: "2026-07-01T00:30:00Z", wantNext: "2026-07-02T00:30:00Z", wantPrevious: "2026-06-30T00:30:00Z",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.anchor == "" {
				tc.anchor = anchor
			}
			timeline := tc.rule.Timeline(instant(t, tc.anchor), tc.offset)
			show := func(at time.Time, ok bool) string {
				if !ok {
					return ""
				}
				return at.Format(time.RFC3339Nano) // UTC shows as Z
			}
			now := instant(t, tc.now)
			latest, ok := timeline.Latest(now)
			if got := show(latest, ok); got != tc.wantLatest {
				t.Errorf("Latest = %q, want %q", got, tc.wantLatest)
			}
			if ok {
				if got := show(timeline.Previous(latest)); got != tc.wantPrevious {
					t.Errorf("Previous = %q, want %q", got, tc.wantPrevious)
				}
			}
			if got := show(timeline.Next(now)); got != tc.wantNext {
				t.Errorf("Next = %q, want %q", got, tc.wantNext)
			}
		})
	}
}

// drawTimeline draws a timeline of either kind.
func drawTimeline(rt *rapid.T, t testing.TB) Timeline {
	anchor := time.Unix(rapid.Int64Range(1.2e9, 2e9).Draw(rt, "anchor"), 0).UTC()
	var rule Rule
	var offset time.Duration
	if rapid.Bool().Draw(rt, "interval") {
		seconds := rapid.Int64Range(1, 400*24*60*60).Draw(rt, "seconds")
		rule = every(t, time.Duration(seconds)*time.Second)
		offset = time.Duration(rapid.Int64Range(0, seconds-1).Draw(rt, "offset")) * time.Second
	} else {
		var err error
		if rule, err = ParseCron(drawCronLine(rt), zone(t, rapid.SampledFrom(zones).Draw(rt, "zone"))); err != nil {
			rt.Fatal(err)
		}
		offset = time.Duration(rapid.Int64Range(0, 3*24*60*60).Draw(rt, "offset")) * time.Second
	}
	return rule.Timeline(anchor, offset)
}

// Latest and Next are adjacent slots, whole seconds in UTC, and not before the
// anchor.
func TestLatestAndNextAreAdjacent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		timeline := drawTimeline(rt, t)
		now := timeline.anchor.Add(time.Duration(rapid.Int64Range(-1e9, 1e9).Draw(rt, "now"))*time.Second +
			time.Duration(rapid.Int64Range(0, 1e9-1).Draw(rt, "ns")))

		next, ok := timeline.Next(now)
		if !ok || !next.After(now) || next.Before(timeline.anchor) {
			rt.Fatalf("Next(%v) = %v, %v, anchor %v", now, next, ok, timeline.anchor)
		}
		if next.Nanosecond() != 0 || next.Location() != time.UTC {
			rt.Fatalf("Next = %v, want whole seconds in UTC", next)
		}
		if at, ok := timeline.Latest(next); !ok || !at.Equal(next) {
			rt.Fatalf("Latest(%v) = %v, %v, want the slot itself", next, at, ok)
		}
		latest, ok := timeline.Latest(now)
		before, okBefore := timeline.Previous(next)
		if ok != okBefore || !latest.Equal(before) {
			rt.Fatalf("Latest = %v, %v, but Previous(Next) = %v, %v", latest, ok, before, okBefore)
		}
		if !ok {
			return
		}
		if latest.After(now) || latest.Before(timeline.anchor) || latest.Nanosecond() != 0 || latest.Location() != time.UTC {
			rt.Fatalf("Latest(%v) = %v, anchor %v", now, latest, timeline.anchor)
		}
		if after, _ := timeline.Next(latest); !after.Equal(next) {
			rt.Fatalf("Next(%v) = %v, want %v", latest, after, next)
		}
	})
}

// A timeline that goes on from a slot of another one has its slots, whatever its own anchor and offset are.
//
// Contract: SLOT-15.
func TestContinuedTimelineKeepsTheRhythm(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		seconds := func(name string, most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, name)) * time.Second
		}
		interval, offset := seconds("interval", 100_000)+time.Second, seconds("offset", 5000)
		rule := cronRule(tt, "30 2 * * *", "Europe/Oslo")
		other := offset
		if rapid.Bool().Draw(t, "interval") {
			rule, other = every(tt, interval), seconds("other offset", 5000)
		}
		anchor := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		before := rule.Timeline(anchor, offset)
		slot, _ := before.Next(anchor.Add(seconds("slot", 1_000_000)))
		after := rule.Timeline(slot.Add(seconds("new", 1_000_000)), other).Continue(slot)
		now := slot.Add(seconds("now", 3_000_000))
		wantNext, _ := before.Next(now)
		if got, _ := after.Next(now); !got.Equal(wantNext) {
			t.Fatalf("next after %v is %v, want %v", now, got, wantNext)
		}
		want, _ := before.Latest(now)
		got, ok := after.Latest(now)
		if want.After(slot) && !got.Equal(want) || ok && !got.Equal(want) {
			t.Fatalf("latest by %v is %v, want %v", now, got, want)
		}
	})
}
