// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// An API server whose clock is 50 ms behind stamps the create for midnight with 23:59:59 of
// the day before. That day has a snapshot of its own.
//
// Contract: RET-3.
func TestDailySnapshotsStampedBeforeMidnightAreOfTheNewDay(t *testing.T) {
	p := Policy{Keep: Tiers{Daily: 30}, MinReady: 1, ReadyDeadline: time.Hour, MaxClockSkew: time.Minute}
	var s Series
	for i := range 10 {
		slot := noon.Add(-12*time.Hour).AddDate(0, 0, i-9)
		x := ready(noon.Sub(slot)).named(slot.Format(time.DateOnly))
		if i%2 == 1 {
			x.Created = slot.Add(-time.Second)
		}
		s.Snapshots = append(s.Snapshots, x)
	}
	for i, v := range Decide(p, noon, s).Verdicts {
		if v != KeptDaily {
			t.Errorf("%s: %v", s.Snapshots[i].Name, v)
		}
	}
}

func TestPlaceToleratesTheClockSkew(t *testing.T) {
	tests := map[string]struct {
		skew, ahead time.Duration
		bySlot      bool
	}{
		"created after the slot":                       {time.Minute, -time.Hour, true},
		"created in the second before":                 {time.Minute, time.Second, true},
		"created by clocks that differ as much as may": {time.Minute, 62 * time.Second, true},
		"created by a clock that was ahead":            {time.Minute, 63 * time.Second, false},
		"created by a clock that was ahead by a day":   {time.Minute, day, false},
		"a longer --max-clock-skew":                    {time.Hour, time.Hour, true},
		"whole seconds, whatever the skew":             {0, 2 * time.Second, true},
		"beyond whole seconds":                         {0, 3 * time.Second, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := ready(day)
			s.ScheduledAt = s.Created.Add(tc.ahead)
			p := Policy{MaxClockSkew: tc.skew}
			want := s.Created
			if tc.bySlot {
				want = s.ScheduledAt
			}
			if got := s.place(p.slotTolerance()); !got.Equal(want) {
				t.Errorf("place = %v, want %v", got, want)
			}
			if got := p.TakenAhead(&s); got == tc.bySlot {
				t.Errorf("TakenAhead = %t", got)
			}
		})
	}
}

// However the clocks of API servers and operators differ within --max-clock-skew, the newest
// good snapshot of each of the N newest periods stays, for the whole life of a PVC (guarantee
// S11). Each create and each decision is made by an operator and an API server of its own.
//
// Contract: RET-12.
func TestTiersKeepEachPeriodUnderSkew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newSkewedLife(t).run()
	})
}

// skewedLife is one PVC whose snapshots are taken and deleted by operators and API servers with
// clocks that differ.
type skewedLife struct {
	*rapid.T
	criteria schedule.Criteria
	policy   Policy
	now      time.Time // the true time
	series   Series
	// good are the slots of all snapshots that ever were ready, the latest first; left says
	// which of them exist.
	good []time.Time
	left map[time.Time]bool
}

func newSkewedLife(t *rapid.T) *skewedLife {
	// Daylight saving time ends on all of these days somewhere; in St John's a day is repeated.
	zone := rapid.SampledFrom([]string{
		"UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "America/St_Johns",
	}).Draw(t, "zone")
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	first := rapid.SampledFrom([]time.Time{
		time.Date(2026, 6, 14, 22, 0, 0, 0, loc), time.Date(2026, 12, 31, 23, 0, 0, 0, loc),
		time.Date(2026, 3, 28, 21, 0, 0, 0, loc), time.Date(2026, 4, 4, 22, 0, 0, 0, loc), time.Date(2026, 10, 24, 22, 0, 0, 0, loc),
		time.Date(2010, 11, 6, 22, 0, 0, 0, loc),
	}).Draw(t, "anchor").Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 3599}).Draw(t, "anchor second")) * time.Second).UTC()
	var rule schedule.Rule
	if rapid.Bool().Draw(t, "cron") {
		rule, err = schedule.ParseCron(rapid.SampledFrom([]string{
			"@hourly", "@daily", "@weekly", "@monthly", "59 23 * * *", "*/30 * * * *", "30 */6 * * *",
		}).Draw(t, "line"), loc)
	} else {
		rule, err = schedule.Every(rapid.SampledFrom([]time.Duration{
			20 * time.Minute, time.Hour, 6 * time.Hour, day, 7 * day,
		}).Draw(t, "interval"))
	}
	if err != nil {
		t.Fatal(err)
	}
	few := rapid.SampledFrom([]int{0, 0, 1, 2, 5})
	keep := drawTiers(t, few)
	if keep == (Tiers{}) {
		keep[Daily] = 3
	}
	l := &skewedLife{T: t, now: first, left: map[time.Time]bool{}, policy: Policy{
		Keep: keep, MinReady: rapid.IntRange(0, 1).Draw(t, "minReady"), ReadyDeadline: time.Hour, Location: loc,
		TTL:          rapid.SampledFrom([]time.Duration{0, 0, time.Hour, 5 * day}).Draw(t, "ttl"),
		MaxClockSkew: rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 5 * time.Minute}).Draw(t, "maxClockSkew"),
	}}
	if rapid.Bool().Draw(t, "cap") { // as many as the tiers keep
		l.policy.MaxCount = keep[Last] + keep[Hourly] + keep[Daily] + keep[Weekly] + keep[Monthly] + keep[Yearly]
	}
	l.criteria = schedule.Criteria{Timeline: rule.Timeline(first, 0), TTL: l.policy.TTL}
	return l
}

// clock returns the error of a clock. No two differ by more than maxClockSkew.
func (l *skewedLife) clock(label string) time.Duration {
	limit := int(l.policy.MaxClockSkew / time.Millisecond)
	return time.Duration(rapid.OneOf(
		rapid.SampledFrom([]int{0, min(50, limit), min(1000, limit), limit}), rapid.IntRange(0, limit),
	).Draw(l.T, label)) * time.Millisecond
}

func (l *skewedLife) run() {
	for range rapid.IntRange(5, 30).Draw(l.T, "steps") {
		operator := l.clock("operator")
		if next := l.criteria.At(l.now.Add(operator)).Next; !next.IsZero() { // when this operator's timer fires
			l.now = next.Add(-operator)
		}
		if rapid.IntRange(0, 3).Draw(l.T, "late") == 0 {
			l.now = l.now.Add(time.Duration(rapid.IntRange(0, 3*3600*1000).Draw(l.T, "by")) * time.Millisecond)
		}
		l.reconcile(l.now.Add(operator))
		l.reconcile(l.now.Add(l.clock("other operator")))
	}
}

func (l *skewedLife) reconcile(local time.Time) {
	l.series.Slot = l.criteria.At(local).Current
	d := Decide(l.policy, local, l.series)
	var rest []Snapshot
	for i, v := range d.Verdicts {
		x := l.series.Snapshots[i]
		if !v.Delete() {
			rest = append(rest, x)
		} else if x.ReadyToUse {
			l.left[x.ScheduledAt] = false
		}
	}
	l.series.Snapshots = rest
	l.check()
	if !d.Take.Create() {
		return
	}
	x := ready(0).slot(l.series.Slot).named(fmt.Sprint("at-", l.series.Slot.Unix()))
	x.Created = l.now.Add(l.clock("API server")).Truncate(time.Second)
	x.CutTime = x.Created
	if rapid.IntRange(0, 9).Draw(l.T, "not ready") == 0 {
		x.ReadyToUse, x.HasError = false, true
	} else {
		l.left[x.ScheduledAt] = true
		l.good = append(l.good, x.ScheduledAt)
		slices.SortFunc(l.good, func(a, b time.Time) int { return b.Compare(a) })
	}
	l.series.Snapshots = append(l.series.Snapshots, x)
}

// check fails unless the newest good snapshot of each of the newest periods exists.
func (l *skewedLife) check() {
	k := l.policy.Keep
	for _, tier := range []struct {
		name string
		n    int
		of   func(time.Time) string
	}{
		{"hourly", k[Hourly], func(t time.Time) string { return t.Format("2006-01-02 15 -07:00") }},
		{"daily", k[Daily], func(t time.Time) string { return t.Format(time.DateOnly) }},
		{"weekly", k[Weekly], func(t time.Time) string { return fmt.Sprint(t.ISOWeek()) }},
		{"monthly", k[Monthly], func(t time.Time) string { return t.Format("2006-01") }},
		{"yearly", k[Yearly], func(t time.Time) string { return t.Format("2006") }},
	} {
		seen := map[string]bool{}
		for _, slot := range l.good {
			period := tier.of(slot.In(l.policy.Location))
			if seen[period] || len(seen) == tier.n {
				continue
			}
			if seen[period] = true; !l.left[slot] {
				l.Fatalf("at %v: %s %s lost its newest snapshot, of slot %v, with %d of them kept", l.now, tier.name, period, slot, tier.n)
			}
		}
	}
}
