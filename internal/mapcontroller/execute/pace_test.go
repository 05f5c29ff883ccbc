// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

func TestPace(t *testing.T) {
	type ask struct {
		after    time.Duration
		key      string
		n        int
		want     int
		wantWait time.Duration
	}
	for name, test := range map[string]struct {
		perSecond float64
		asks      []ask
	}{
		"no pace": {asks: []ask{{key: "a", n: 1000, want: 1000}, {key: "a", n: 1000, want: 1000}}},
		"a burst, and then a wait": {perSecond: 2, asks: []ask{
			{key: "a", n: 2, want: 2},
			{key: "b", n: 1, wantWait: 500 * time.Millisecond},
		}},
		"a key that waits keeps its turn": {perSecond: 2, asks: []ask{
			{key: "a", n: 2, want: 2},
			{key: "b", n: 2, wantWait: time.Second},
			{key: "b", n: 2, after: 400 * time.Millisecond, wantWait: 600 * time.Millisecond},
			{key: "c", n: 1, after: 400 * time.Millisecond, wantWait: 1100 * time.Millisecond},
			{key: "b", n: 2, after: time.Second, want: 2},
		}},
		"no more than a burst at once": {perSecond: 2, asks: []ask{
			{key: "a", n: 5, want: 2, wantWait: time.Second},
			{key: "a", n: 3, wantWait: time.Second},
			{key: "a", n: 3, after: time.Second, want: 2, wantWait: 500 * time.Millisecond},
		}},
		"a key that needs less by then takes less": {perSecond: 2, asks: []ask{
			{key: "a", n: 2, want: 2},
			{key: "b", n: 2, wantWait: time.Second},
			{key: "b", n: 1, after: time.Second, want: 1},
		}},
		"less than one a second": {perSecond: 0.5, asks: []ask{
			{key: "a", n: 3, want: 1, wantWait: 2 * time.Second},
			{key: "a", n: 2, wantWait: 2 * time.Second},
			{key: "a", n: 2, after: 2 * time.Second, want: 1, wantWait: 2 * time.Second},
		}},
		"a clock that is set back makes no wait longer": {perSecond: 2, asks: []ask{
			{key: "a", n: 2, want: 2},
			{key: "b", n: 1, wantWait: 500 * time.Millisecond},
			{key: "b", n: 1, after: -time.Hour, wantWait: 500 * time.Millisecond},
			{key: "b", n: 1, after: -time.Hour + 500*time.Millisecond, want: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, clock := newAttempts(test.perSecond)
			for i, ask := range test.asks {
				clock.SetTime(fixture.Now.Add(ask.after))
				req := plan.Request{MapKey: ask.key}
				got := a.take(req, ask.n)
				wait := a.finish(req, pass{deletes: true}).Round(time.Millisecond)
				if ask.wantWait == 0 {
					ask.wantWait = LongestDelay
				}
				if got != ask.want || wait != ask.wantWait {
					t.Errorf("ask %d: got %d, wait %s; want %d, %s", i, got, wait, ask.want, ask.wantWait)
				}
			}
		})
	}
}
