// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Contract: SLOT-5.
func TestCriteriaAtReturnsSlots(t *testing.T) {
	// Slots at 00:00, 06:00, 12:00 and 18:00.
	const anchor = "2026-01-01T00:00:00Z"
	tests := map[string]struct {
		requested            string
		suspend              bool
		ttl, deadline        time.Duration
		now                  string
		wantCurrent, wantTil string // empty: none
		wantNext, wantPrev   string
		wantLatest           string // empty: the slot after wantPrev, if there is one
		wantDropped          string // empty: none
	}{
		"the newest slot is current": {
			now:         "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"the first slot has no previous": {
			now:         anchor,
			wantCurrent: anchor, wantNext: "2026-01-01T06:00:00Z", wantLatest: anchor,
		},
		"no slot before the anchor": {
			now:      "2025-12-31T23:59:59Z",
			wantNext: anchor,
		},
		"no slot while suspended": {
			suspend: true, now: "2026-01-02T13:00:00Z",
		},
		"requested: one more slot, truncated to seconds": {
			requested: "2026-01-02T12:30:00.9Z", now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:30:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"requested: in another zone": {
			requested: "2026-01-02T14:30:00+02:00", now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:30:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"requested: current at once": {
			requested: "2026-01-02T13:00:00Z", now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T13:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"requested: ignored before the newest slot": {
			requested: "2026-01-02T11:59:59Z", now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"requested: current while suspended": {
			requested: "2026-01-02T12:30:00Z", suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:30:00Z",
		},
		"requested: a future time is the next slot": {
			requested: "2026-01-02T13:00:01Z", now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T13:00:01Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"requested: a future time after the next slot waits": {
			requested: "2026-01-02T20:00:00Z", now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"requested: a future time is next while suspended": {
			requested: "2026-01-02T20:00:00Z", suspend: true, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T20:00:00Z",
		},
		"requested: ignored before the anchor": {
			requested: "2025-12-31T23:59:59Z", suspend: true, now: "2026-01-02T13:00:00Z",
		},
		"requested: current at the anchor": {
			requested: anchor, suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: anchor,
		},
		"requested: current within the second of the anchor": {
			requested: "2026-01-01T00:00:00.5Z", suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: anchor,
		},
		"requested: none when as old as snapshotTTL": {
			requested: "2026-01-02T12:30:00Z", suspend: true, ttl: 30 * time.Minute, now: "2026-01-02T13:00:00Z",
			wantDropped: "2026-01-02T12:30:00Z",
		},
		"requested: none when as old as startingDeadline": {
			requested: "2026-01-02T12:30:00Z", suspend: true, deadline: 30 * time.Minute, now: "2026-01-02T13:00:00Z",
			wantDropped: "2026-01-02T12:30:00Z",
		},
		"current until snapshotTTL": {
			ttl: time.Hour, now: "2026-01-02T12:59:59.999Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-02T13:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"none when as old as snapshotTTL": {
			ttl: time.Hour, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
			wantDropped: "2026-01-02T12:00:00Z",
		},
		"current until startingDeadline": {
			deadline: 2 * time.Hour, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-02T14:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"none when as old as startingDeadline": {
			deadline: 2 * time.Hour, now: "2026-01-02T14:00:00Z",
			wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
			wantDropped: "2026-01-02T12:00:00Z",
		},
		"current until the shorter of the two": {
			ttl: 90 * time.Minute, deadline: 2 * time.Hour, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-02T13:30:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"none when the newest is too old": {
			requested: "2026-01-02T11:00:00Z", deadline: time.Hour, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
			wantDropped: "2026-01-02T12:00:00Z",
		},
		"current until a deadline longer than the interval": {
			deadline: 24 * time.Hour, now: "2026-01-02T17:59:59Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-03T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			criteria := Criteria{
				Timeline: every(t, 6*time.Hour).Timeline(instant(t, anchor), 0),
				Suspend:  tc.suspend, TTL: tc.ttl, StartingDeadline: tc.deadline,
			}
			if tc.requested != "" {
				criteria.Requested = instant(t, tc.requested)
			}
			got := criteria.At(instant(t, tc.now))
			if tc.wantPrev != "" {
				tc.wantLatest = instant(t, tc.wantPrev).Add(6 * time.Hour).Format(time.RFC3339)
			}
			for what, pair := range map[string]struct {
				got  time.Time
				want string
			}{
				"Current": {got.Current, tc.wantCurrent}, "Until": {got.Until, tc.wantTil},
				"Next": {got.Next, tc.wantNext}, "Previous": {got.Previous, tc.wantPrev}, "Latest": {got.Latest, tc.wantLatest},
				"Dropped": {got.Dropped, tc.wantDropped},
			} {
				shown := ""
				if !pair.got.IsZero() {
					shown = pair.got.Format(time.RFC3339Nano)
				}
				if shown != pair.want {
					t.Errorf("%s = %q, want %q", what, shown, pair.want)
				}
			}
		})
	}
}

// The wait of a group whose PVCs have a snapshot under another key ends with a slot, of whatever age the one of the grid is.
//
// Contract: GRP-7.
func TestTheSlotAfterOneOfAnotherKey(t *testing.T) {
	const anchor = "2026-01-01T00:00:00Z" // slots at 00:00, 06:00, 12:00 and 18:00
	for name, tc := range map[string]struct {
		now, current, next, latest, previous, dropped string
	}{
		"before the wait ends":             {now: "2026-01-02T07:59:59Z", next: "2026-01-02T08:00:00Z"},
		"at its end":                       {"2026-01-02T08:00:00Z", "2026-01-02T08:00:00Z", "2026-01-02T12:00:00Z", "2026-01-02T08:00:00Z", "", ""},
		"when that is too late":            {"2026-01-02T09:00:00Z", "", "2026-01-02T12:00:00Z", "2026-01-02T08:00:00Z", "", "2026-01-02T08:00:00Z"},
		"in the grid's next slot":          {"2026-01-02T12:00:00Z", "2026-01-02T12:00:00Z", "2026-01-02T18:00:00Z", "2026-01-02T12:00:00Z", "2026-01-02T08:00:00Z", ""},
		"in the slot of the grid after it": {"2026-01-02T18:00:00Z", "2026-01-02T18:00:00Z", "2026-01-03T00:00:00Z", "2026-01-02T18:00:00Z", "2026-01-02T12:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Criteria{
				Timeline: every(t, 6*time.Hour).Timeline(instant(t, anchor), 0), Taken: instant(t, "2026-01-02T02:00:00Z"), StartingDeadline: time.Hour,
			}.At(instant(t, tc.now))
			got.Until = time.Time{}
			want := Slots{}
			for at, text := range map[*time.Time]string{
				&want.Current: tc.current, &want.Next: tc.next, &want.Latest: tc.latest, &want.Previous: tc.previous, &want.Dropped: tc.dropped,
			} {
				if text != "" {
					*at = instant(t, text)
				}
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// A caller that waits until the earlier of Next and Until misses nothing.
//
// Contract: SLOT-12.
func TestSlotsDoNotChangeBeforeNextOrUntil(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		criteria := Criteria{Timeline: drawTimeline(rt, t), Suspend: rapid.Bool().Draw(rt, "suspend")}
		now := criteria.Timeline.anchor.Add(time.Duration(rapid.Int64Range(0, 1e8).Draw(rt, "now")) * time.Second)
		limit := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1e7))
		criteria.TTL = time.Duration(limit.Draw(rt, "ttl")) * time.Second
		criteria.StartingDeadline = time.Duration(limit.Draw(rt, "deadline")) * time.Second
		if rapid.Bool().Draw(rt, "requested") {
			criteria.Requested = now.Add(time.Duration(rapid.Int64Range(-1e6, 1e6).Draw(rt, "after")) * time.Second)
		}
		if rapid.Bool().Draw(rt, "elsewhere") {
			criteria.Taken = now.Add(time.Duration(rapid.Int64Range(-1e6, 0).Draw(rt, "taken")) * time.Second)
		}

		got := criteria.At(now)
		if got.Current.After(now) || (!got.Next.IsZero() && !got.Next.After(now)) || (!got.Until.IsZero() && !got.Until.After(now)) {
			rt.Fatalf("at %v: %+v", now, got)
		}
		until := got.Next
		if until.IsZero() || (!got.Until.IsZero() && got.Until.Before(until)) {
			until = got.Until
		}
		if until.IsZero() {
			until = now.Add(1e9 * time.Second)
		}
		within := rapid.Int64Range(0, int64(until.Sub(now))-1).Draw(rt, "within")
		if later := criteria.At(now.Add(time.Duration(within))); later != got {
			rt.Fatalf("at %v: %+v, but %v later %+v", now, got, time.Duration(within), later)
		}
		// Next becomes Current.
		if then := criteria.At(got.Next); !got.Next.IsZero() && !then.Current.Equal(got.Next) {
			rt.Fatalf("at %v the next is %v, but then %+v", now, got.Next, then)
		}
	})
}
