// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// readyAt returns a ready snapshot created at a time in UTC.
func readyAt(s string) Snapshot {
	created, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return ready(noon.Sub(created))
}

// Contract: RET-3.
func TestDecideKeepsWhatTiersSelect(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	testDecide(t, map[string]decideCase{
		"last keeps the newest ready ones": {
			policy: Policy{Keep: Tiers{Last: 2}},
			want:   []expected{inError(time.Hour).want(Unready), ready(day).want(KeptLast), ready(2 * day).want(KeptLast), ready(3 * day).want(NotSelected)},
		},
		"last goes by slot, not by creation": {
			policy: Policy{Keep: Tiers{Last: 1}},
			want:   []expected{ready(day).slot(noon.Add(-3 * day)).want(NotSelected), ready(2 * day).want(KeptLast)},
		},
		"hourly keeps the newest of each hour": {
			policy: Policy{Keep: Tiers{Hourly: 2}},
			want: []expected{
				readyAt("2026-06-15 11:50").want(KeptHourly), readyAt("2026-06-15 11:10").want(NotSelected),
				readyAt("2026-06-15 10:59").want(KeptHourly), readyAt("2026-06-15 09:59").want(NotSelected),
			},
		},
		"hourly counts only hours that contain one": {
			policy: Policy{Keep: Tiers{Hourly: 2}},
			want:   []expected{readyAt("2026-06-15 11:50").want(KeptHourly), readyAt("2026-01-01 00:00").want(KeptHourly), readyAt("2025-12-31 23:59").want(NotSelected)},
		},
		"daily keeps the newest of each day": {
			policy: Policy{Keep: Tiers{Daily: 2}},
			want: []expected{
				readyAt("2026-06-15 00:00").want(KeptDaily), readyAt("2026-06-14 23:59").want(KeptDaily),
				readyAt("2026-06-14 00:00").want(NotSelected), readyAt("2026-06-13 12:00").want(NotSelected),
			},
		},
		"weekly keeps the newest of each week from Monday": {
			policy: Policy{Keep: Tiers{Weekly: 3}},
			want: []expected{
				readyAt("2026-06-15 00:00").want(KeptWeekly), readyAt("2026-06-14 23:59").want(KeptWeekly),
				readyAt("2026-06-08 00:00").want(NotSelected), readyAt("2026-06-07 23:59").want(KeptWeekly),
			},
		},
		"weekly counts a week across the end of a year once": {
			policy: Policy{Keep: Tiers{Weekly: 2}},
			want: []expected{
				readyAt("2026-01-04 12:00").want(KeptWeekly), readyAt("2025-12-29 00:00").want(NotSelected), readyAt("2025-12-28 23:59").want(KeptWeekly),
			},
		},
		"monthly keeps the newest of each month": {
			policy: Policy{Keep: Tiers{Monthly: 3}},
			want: []expected{
				readyAt("2026-02-28 12:00").want(KeptMonthly), readyAt("2026-02-01 00:00").want(NotSelected),
				readyAt("2026-01-31 23:59").want(KeptMonthly), readyAt("2025-02-28 12:00").want(KeptMonthly), readyAt("2025-01-01 00:00").want(NotSelected),
			},
		},
		"yearly keeps the newest of each year": {
			policy: Policy{Keep: Tiers{Yearly: 2}},
			want: []expected{
				readyAt("2026-01-01 00:00").want(KeptYearly), readyAt("2025-12-31 23:59").want(KeptYearly), readyAt("2025-01-01 00:00").want(NotSelected),
			},
		},
		"the verdict is the first tier that selects": {
			policy: Policy{Keep: Tiers{Last: 1, Hourly: 2, Daily: 3, Yearly: 1}},
			want: []expected{
				readyAt("2026-06-15 11:50").want(KeptLast), readyAt("2026-06-15 10:50").want(KeptHourly),
				readyAt("2026-06-15 09:50").want(NotSelected), readyAt("2026-06-14 12:00").want(KeptDaily), readyAt("2026-06-13 12:00").want(KeptDaily), readyAt("2026-06-12 12:00").want(NotSelected),
			},
		},
		"days are those of the schedule's zone": { // midnight in New York is 04:00 UTC
			policy: Policy{Keep: Tiers{Daily: 2}, Location: newYork},
			want: []expected{
				readyAt("2026-06-15 04:00").want(KeptDaily), readyAt("2026-06-15 03:59").want(KeptDaily), readyAt("2026-06-14 04:00").want(NotSelected), readyAt("2026-06-14 03:59").want(NotSelected),
			},
		},
		"a repeated hour counts as two hours": { // 01:30 in New York, twice
			policy: Policy{Keep: Tiers{Hourly: 3}, Location: newYork},
			want: []expected{
				readyAt("2025-11-02 07:30").want(KeptHourly), readyAt("2025-11-02 06:30").want(KeptHourly), readyAt("2025-11-02 05:30").want(KeptHourly), readyAt("2025-11-02 04:30").want(NotSelected),
			},
		},
		"a snapshot is kept by TTL or tier": {
			policy: Policy{TTL: day, Keep: Tiers{Daily: 2}},
			want: []expected{
				readyAt("2026-06-15 11:00").want(KeptDaily), readyAt("2026-06-15 10:00").want(WithinTTL), readyAt("2026-06-14 12:01").want(KeptDaily), readyAt("2026-06-14 11:00").want(Expired),
			},
			checkAll: true, wantNext: time.Minute,
		},
		"unready ones are not selected": {
			policy: Policy{TTL: day, Keep: Tiers{Daily: 1, Last: 1}},
			want:   []expected{inError(2 * day).want(Expired), ready(3 * day).want(KeptLast)},
		},
		"terminating ones are not selected": {
			policy: Policy{Keep: Tiers{Last: 1}},
			want:   []expected{ready(day).deleting().want(BeingDeleted), ready(2 * day).want(KeptLast)},
		},
		"held ones are selected and count": {
			policy: Policy{Keep: Tiers{Last: 1, Daily: 1}},
			want:   []expected{ready(day).held(Forever).want(HeldByAnnotation), ready(2 * day).want(NotSelected)},
		},
		"a driver's clock two hours ahead does not change the hour": {
			policy: Policy{Keep: Tiers{Hourly: 3}},
			want: []expected{
				readyAt("2026-06-15 11:00").cut(noon.Add(time.Hour)).want(KeptHourly),
				readyAt("2026-06-15 10:00").cut(noon.Add(3 * time.Second)).want(KeptHourly),
				readyAt("2026-06-15 09:00").cut(noon.Add(-time.Hour + 3*time.Second)).want(KeptHourly),
			},
		},
		"snapshots that a restore created together belong to the days of their slots": {
			policy: Policy{Keep: Tiers{Daily: 3}}, series: Series{Claim: Gone},
			want: []expected{
				ready(time.Minute).slot(noon.Add(-day)).want(KeptDaily), ready(time.Minute).slot(noon.Add(-2 * day)).want(KeptDaily),
				ready(time.Minute).slot(noon.Add(-2*day - time.Hour)).want(NotSelected), ready(time.Minute).slot(noon.Add(-40 * day)).want(KeptDaily),
				ready(time.Minute).slot(noon.Add(-41 * day)).want(NotSelected),
			},
		},
		"without a scheduled-at the day is that of the creation": {
			policy: Policy{Keep: Tiers{Daily: 2}},
			want: []expected{
				ready(day).slot(time.Time{}).want(KeptDaily), ready(day + time.Hour).slot(time.Time{}).want(NotSelected), ready(2 * day).want(KeptDaily),
			},
		},
		"a scheduled-at later than the creation, of a clock that was ahead, does not change the day": {
			policy: Policy{Keep: Tiers{Daily: 2}}, series: Series{Claim: Gone},
			want: []expected{
				ready(3 * day).slot(noon.Add(-day)).want(KeptDaily), ready(2 * day).want(KeptDaily), ready(4 * day).want(NotSelected),
				ready(3*day + time.Hour).slot(noon.Add(day)).want(NotSelected),
			},
		},
		"a slot before midnight that was taken after it belongs to the day before": {
			policy: Policy{Keep: Tiers{Daily: 2}},
			want: []expected{
				readyAt("2026-06-15 00:30").want(KeptDaily), readyAt("2026-06-15 00:01").slot(noon.Add(-12*time.Hour - time.Second)).want(KeptDaily),
				readyAt("2026-06-14 20:00").want(NotSelected),
			},
		},
		// A clock that was ahead took it for a slot that has come since.
		"the newest of a selected PVC is kept, or its slot would be due again": {
			policy: Policy{Keep: Tiers{Daily: 1}},
			want: []expected{
				ready(2 * day).slot(noon.Add(-time.Hour)).want(KeptNewest), ready(day).want(KeptDaily), ready(3 * day).want(NotSelected),
			},
		},
		"the newest of a selected PVC counts for the cap": {
			policy: Policy{Keep: Tiers{Daily: 2}, MaxCount: 2},
			want: []expected{
				ready(3 * day).slot(noon).want(KeptNewest), ready(13 * time.Hour).want(KeptDaily), ready(2 * day).want(OverCap),
			},
		},
		"the newest of a detached series is deleted": {
			policy: Policy{Keep: Tiers{Daily: 1}}, series: Series{Claim: Unselected},
			want: []expected{ready(2 * day).slot(noon.Add(-time.Hour)).want(NotSelected), ready(day).want(KeptDaily)},
		},
		"negative counts select nothing": {
			policy: Policy{Keep: Tiers{Last: -1, Hourly: -1, Daily: 1, Yearly: -1}},
			want:   []expected{ready(day).want(KeptDaily), ready(2 * day).want(NotSelected)},
		},
	})
}

func TestPeriodsOfTimeBeforeTheEpoch(t *testing.T) {
	at := wallClockOf(time.Date(1969, 12, 31, 23, 30, 0, 0, time.UTC), time.UTC)
	for i, want := range [...]int64{-2 * 86400, -1, 0, 1969*12 + 12, 1969} {
		if tier := TierTable[1+i]; tier.period(at) != want {
			t.Errorf("%s: period %d, want %d", tier.Name, tier.period(at), want)
		}
	}
}

// Before the new day has a snapshot after the repeated hour, its newest is the one before.
func TestTiersKeepADayThatBeganBeforeItsMidnightWasRepeated(t *testing.T) {
	loc, err := time.LoadLocation("America/St_Johns")
	if err != nil {
		t.Fatal(err)
	}
	change := time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC) // 00:01 became 23:01
	newDay, repeated := change.Add(-time.Minute), change.Add(30*time.Minute)
	for name, keep := range map[string]Tiers{"daily": {Daily: 2}, "hourly": {Hourly: 2}} {
		s := Series{Snapshots: []Snapshot{ready(noon.Sub(repeated)), ready(noon.Sub(newDay)), ready(noon.Sub(newDay.Add(-2 * time.Hour)))}}
		got := Decide(Policy{Keep: keep, Location: loc}, noon, s).Verdicts
		if !got[0].ByTier() || !got[1].ByTier() || got[2] != NotSelected {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestDailyTierCountsADayRepeatedAtMidnightOnce(t *testing.T) {
	// 00:01 became 23:01 of the day before, in St John's, until 2011.
	loc, err := time.LoadLocation("America/St_Johns")
	if err != nil {
		t.Fatal(err)
	}
	change := time.Date(2010, 11, 7, 2, 31, 0, 0, time.UTC)
	first, again := change.Add(-30*time.Second), change.Add(time.Hour)
	between := change.Add(30 * time.Minute)
	series := Series{Snapshots: []Snapshot{
		ready(noon.Sub(again)), ready(noon.Sub(between)), ready(noon.Sub(first)), ready(noon.Sub(first.Add(-time.Hour))), ready(noon.Sub(first.Add(-2 * day))),
	}}
	got := Decide(Policy{Keep: Tiers{Daily: 3}, Location: loc}, noon, series).Verdicts
	for i, want := range []Verdict{KeptDaily, KeptDaily, NotSelected, NotSelected, KeptDaily} {
		if got[i] != want {
			t.Errorf("%v: %v, want %v", series.Snapshots[i].Created.In(loc), got[i], want)
		}
	}
}
