// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// at is a ready snapshot created at a time in UTC.
func at(s string) Snapshot {
	created, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return ready(noon.Sub(created))
}

// Contract: RET-3.
func TestDecideTiers(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	runDecide(t, map[string]decideCase{
		"last: the N newest ready": {
			policy: Policy{Keep: Tiers{Last: 2}},
			want:   []judged{erring(time.Hour).want(Unready), ready(day).want(KeptLast), ready(2 * day).want(KeptLast), ready(3 * day).want(NotSelected)},
		},
		"hourly: the newest of each hour": {
			policy: Policy{Keep: Tiers{Hourly: 2}},
			want: []judged{
				at("2026-06-15 11:50").want(KeptHourly), at("2026-06-15 11:10").want(NotSelected),
				at("2026-06-15 10:59").want(KeptHourly), at("2026-06-15 09:59").want(NotSelected),
			},
		},
		"only hours that contain one are counted": {
			policy: Policy{Keep: Tiers{Hourly: 2}},
			want:   []judged{at("2026-06-15 11:50").want(KeptHourly), at("2026-01-01 00:00").want(KeptHourly), at("2025-12-31 23:59").want(NotSelected)},
		},
		"daily": {
			policy: Policy{Keep: Tiers{Daily: 2}},
			want: []judged{
				at("2026-06-15 00:00").want(KeptDaily), at("2026-06-14 23:59").want(KeptDaily),
				at("2026-06-14 00:00").want(NotSelected), at("2026-06-13 12:00").want(NotSelected),
			},
		},
		"weekly: ISO weeks begin on Monday": {
			policy: Policy{Keep: Tiers{Weekly: 3}},
			want: []judged{
				at("2026-06-15 00:00").want(KeptWeekly), at("2026-06-14 23:59").want(KeptWeekly),
				at("2026-06-08 00:00").want(NotSelected), at("2026-06-07 23:59").want(KeptWeekly),
			},
		},
		"weekly: a week goes over the end of a year": {
			policy: Policy{Keep: Tiers{Weekly: 2}},
			want: []judged{
				at("2026-01-04 12:00").want(KeptWeekly), at("2025-12-29 00:00").want(NotSelected), at("2025-12-28 23:59").want(KeptWeekly),
			},
		},
		"monthly": {
			policy: Policy{Keep: Tiers{Monthly: 3}},
			want: []judged{
				at("2026-02-28 12:00").want(KeptMonthly), at("2026-02-01 00:00").want(NotSelected),
				at("2026-01-31 23:59").want(KeptMonthly), at("2025-02-28 12:00").want(KeptMonthly), at("2025-01-01 00:00").want(NotSelected),
			},
		},
		"yearly": {
			policy: Policy{Keep: Tiers{Yearly: 2}},
			want: []judged{
				at("2026-01-01 00:00").want(KeptYearly), at("2025-12-31 23:59").want(KeptYearly), at("2025-01-01 00:00").want(NotSelected),
			},
		},
		"the first tier that selects is named": {
			policy: Policy{Keep: Tiers{Last: 1, Hourly: 2, Daily: 3, Yearly: 1}},
			want: []judged{
				at("2026-06-15 11:50").want(KeptLast), at("2026-06-15 10:50").want(KeptHourly),
				at("2026-06-15 09:50").want(NotSelected), at("2026-06-14 12:00").want(KeptDaily), at("2026-06-13 12:00").want(KeptDaily), at("2026-06-12 12:00").want(NotSelected),
			},
		},
		"in the schedule's zone": { // midnight in New York is 04:00 UTC
			policy: Policy{Keep: Tiers{Daily: 2}, Location: newYork},
			want: []judged{
				at("2026-06-15 04:00").want(KeptDaily), at("2026-06-15 03:59").want(KeptDaily), at("2026-06-14 04:00").want(NotSelected), at("2026-06-14 03:59").want(NotSelected),
			},
		},
		"a repeated hour is an hour of its own": { // 01:30 in New York, twice
			policy: Policy{Keep: Tiers{Hourly: 3}, Location: newYork},
			want: []judged{
				at("2025-11-02 07:30").want(KeptHourly), at("2025-11-02 06:30").want(KeptHourly), at("2025-11-02 05:30").want(KeptHourly), at("2025-11-02 04:30").want(NotSelected),
			},
		},
		"within the TTL or selected": {
			policy: Policy{TTL: day, Keep: Tiers{Daily: 2}},
			want: []judged{
				at("2026-06-15 11:00").want(KeptDaily), at("2026-06-15 10:00").want(WithinTTL), at("2026-06-14 12:01").want(KeptDaily), at("2026-06-14 11:00").want(Expired),
			},
			checkRest: true, wantNext: time.Minute,
		},
		"unready ones are not selected": {
			policy: Policy{TTL: day, Keep: Tiers{Daily: 1, Last: 1}},
			want:   []judged{erring(2 * day).want(Expired), ready(3 * day).want(KeptLast)},
		},
		"terminating ones are not selected": {
			policy: Policy{Keep: Tiers{Last: 1}},
			want:   []judged{ready(day).deleting().want(BeingDeleted), ready(2 * day).want(KeptLast)},
		},
		"held ones are selected like others": {
			policy: Policy{Keep: Tiers{Last: 1, Daily: 1}},
			want:   []judged{ready(day).held(HoldAnnotation).want(HeldByAnnotation), ready(2 * day).want(NotSelected)},
		},
		"a driver two hours ahead changes no hour": {
			policy: Policy{Keep: Tiers{Hourly: 3}},
			want: []judged{
				at("2026-06-15 11:00").cut(noon.Add(time.Hour)).want(KeptHourly),
				at("2026-06-15 10:00").cut(noon.Add(3 * time.Second)).want(KeptHourly),
				at("2026-06-15 09:00").cut(noon.Add(-time.Hour + 3*time.Second)).want(KeptHourly),
			},
		},
		"a slot out of order does not change the calendar": {
			policy: Policy{Keep: Tiers{Daily: 1}},
			want: []judged{
				ready(day).slot(noon.Add(-4 * day)).want(KeptDaily), ready(2 * day).want(KeptNewest), ready(3 * day).want(NotSelected),
			},
		},
		// A backup tool has put an old one back, which is the last that was created.
		"the newest of a selected PVC stays, else its slot would be due again": {
			policy: Policy{Keep: Tiers{Weekly: 3, Yearly: 1}, MaxCount: 8},
			want: []judged{
				ready(3 * time.Hour).want(KeptNewest), ready(time.Hour).slot(noon.Add(-5 * day)).want(KeptWeekly), ready(4 * time.Hour).want(NotSelected),
			},
		},
		"and counts for the cap": {
			policy: Policy{Keep: Tiers{Daily: 2}, MaxCount: 2},
			want: []judged{
				ready(14 * time.Hour).slot(noon).want(KeptNewest), ready(13 * time.Hour).want(KeptDaily), ready(2 * day).want(OverCap),
			},
		},
		"that of a detached one goes": {
			policy: Policy{Keep: Tiers{Weekly: 3, Yearly: 1}}, series: Series{Claim: Unselected},
			want: []judged{ready(3 * time.Hour).want(NotSelected), ready(time.Hour).slot(noon.Add(-5 * day)).want(KeptWeekly)},
		},
		"negative counts are none": {
			policy: Policy{Keep: Tiers{Last: -1, Hourly: -1, Daily: 1, Yearly: -1}},
			want:   []judged{ready(day).want(KeptDaily), ready(2 * day).want(NotSelected)},
		},
	})
}

func TestPeriodsBeforeTheEpoch(t *testing.T) {
	got := periodsOf(time.Date(1969, 12, 31, 23, 30, 0, 0, time.UTC), time.UTC)
	if want := [...]int64{-3600, -1, 0, 1969*12 + 12, 1969}; got != want {
		t.Errorf("periodsOf = %v, want %v", got, want)
	}
}

func TestPeriodsWhereTheClockIsSetBackOverMidnight(t *testing.T) {
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
