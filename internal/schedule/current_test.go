// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Contract: SLOT-5.
func TestTermsAt(t *testing.T) {
	// Slots at 00:00, 06:00, 12:00 and 18:00.
	const anchor = "2026-01-01T00:00:00Z"
	tests := map[string]struct {
		requested            []string
		suspend              bool
		ttl, deadline        time.Duration
		now                  string
		wantCurrent, wantTil string // empty: none
		wantNext, wantPrev   string
	}{
		"the newest slot": {
			now:         "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"the first slot has none before it": {
			now:         anchor,
			wantCurrent: anchor, wantNext: "2026-01-01T06:00:00Z",
		},
		"none yet": {
			now:      "2025-12-31T23:59:59Z",
			wantNext: anchor,
		},
		"suspended": {
			suspend: true, now: "2026-01-02T13:00:00Z",
		},
		"run now is one more slot, truncated to seconds": {
			requested: []string{"2026-01-02T12:30:00.9Z"}, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:30:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"run now in another zone": {
			requested: []string{"2026-01-02T14:30:00+02:00"}, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:30:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"run now at this second": {
			requested: []string{"2026-01-02T13:00:00Z"}, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T13:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"run now before the newest slot": {
			requested: []string{"2026-01-02T11:59:59Z"}, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"run now works while suspended": {
			requested: []string{"2026-01-02T12:30:00Z"}, suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:30:00Z",
		},
		"run now on schedule and PVC: the newest": {
			requested: []string{"2026-01-02T12:40:00Z", "2026-01-02T12:50:00Z", "2026-01-02T12:30:00Z"}, suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:50:00Z",
		},
		"a time to come is a slot to come": {
			requested: []string{"2026-01-02T13:00:01Z"}, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T13:00:01Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"a time to come after the next slot": {
			requested: []string{"2026-01-02T20:00:00Z"}, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"a time to come while suspended": {
			requested: []string{"2026-01-02T20:00:00Z"}, suspend: true, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T20:00:00Z",
		},
		"two times to come: the earlier": {
			requested: []string{"2026-01-02T20:00:00Z", "2026-01-02T19:00:00Z"}, suspend: true, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T19:00:00Z",
		},
		"run now is ignored by PVCs whose anchor is later": {
			requested: []string{"2025-12-31T23:59:59Z"}, suspend: true, now: "2026-01-02T13:00:00Z",
		},
		"run now at the anchor counts": {
			requested: []string{anchor}, suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: anchor,
		},
		"run now within the anchor's second counts": {
			requested: []string{"2026-01-01T00:00:00.5Z"}, suspend: true, now: "2026-01-02T13:00:00Z",
			wantCurrent: anchor,
		},
		"run now is ignored once older than snapshotTTL": {
			requested: []string{"2026-01-02T12:30:00Z"}, suspend: true, ttl: 30 * time.Minute, now: "2026-01-02T13:00:00Z",
		},
		"run now is ignored once older than startingDeadline": {
			requested: []string{"2026-01-02T12:30:00Z"}, suspend: true, deadline: 30 * time.Minute, now: "2026-01-02T13:00:00Z",
		},
		"a slot within snapshotTTL": {
			ttl: time.Hour, now: "2026-01-02T12:59:59.999Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-02T13:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"a slot as old as snapshotTTL is not due": {
			ttl: time.Hour, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"a slot within startingDeadline": {
			deadline: 2 * time.Hour, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-02T14:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"a slot as old as startingDeadline is not due": {
			deadline: 2 * time.Hour, now: "2026-01-02T14:00:00Z",
			wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"the shorter of the two ends it": {
			ttl: 90 * time.Minute, deadline: 2 * time.Hour, now: "2026-01-02T13:00:00Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-02T13:30:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"if the newest is too old, none is due": {
			requested: []string{"2026-01-02T11:00:00Z"}, deadline: time.Hour, now: "2026-01-02T13:00:00Z",
			wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
		"a deadline longer than the interval": {
			deadline: 24 * time.Hour, now: "2026-01-02T17:59:59Z",
			wantCurrent: "2026-01-02T12:00:00Z", wantTil: "2026-01-03T12:00:00Z", wantNext: "2026-01-02T18:00:00Z", wantPrev: "2026-01-02T06:00:00Z",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			terms := Terms{
				Timeline: every(t, 6*time.Hour).Timeline(instant(t, anchor), 0),
				Suspend:  tc.suspend, TTL: tc.ttl, StartingDeadline: tc.deadline,
			}
			for _, s := range tc.requested {
				terms.Requested = append(terms.Requested, instant(t, s))
			}
			got := terms.At(instant(t, tc.now))
			for what, pair := range map[string]struct {
				got  time.Time
				want string
			}{
				"Current": {got.Current, tc.wantCurrent}, "Until": {got.Until, tc.wantTil},
				"Next": {got.Next, tc.wantNext}, "Previous": {got.Previous, tc.wantPrev},
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

// Nothing but Next and Until changes which slot is current: a caller that
// sleeps until the earlier of the two misses nothing.
//
// Contract: SLOT-12.
func TestCurrentChangesOnlyAtNextOrUntil(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		terms := Terms{Timeline: drawTimeline(rt, t), Suspend: rapid.Bool().Draw(rt, "suspend")}
		now := terms.Timeline.anchor.Add(time.Duration(rapid.Int64Range(0, 1e8).Draw(rt, "now")) * time.Second)
		limit := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(1, 1e7))
		terms.TTL = time.Duration(limit.Draw(rt, "ttl")) * time.Second
		terms.StartingDeadline = time.Duration(limit.Draw(rt, "deadline")) * time.Second
		for _, after := range rapid.SliceOfN(rapid.Int64Range(-1e6, 1e6), 0, 2).Draw(rt, "requested") {
			terms.Requested = append(terms.Requested, now.Add(time.Duration(after)*time.Second))
		}

		got := terms.At(now)
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
		if later := terms.At(now.Add(time.Duration(within))); later != got {
			rt.Fatalf("at %v: %+v, but %v later %+v", now, got, time.Duration(within), later)
		}
		// A time to come is current once it has come, unless limits say otherwise.
		if then := terms.At(got.Next); !got.Next.IsZero() && !then.Current.Equal(got.Next) {
			rt.Fatalf("at %v the next is %v, but then %+v", now, got.Next, then)
		}
	})
}
