// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"math"
	"slices"
	"time"
)

// tier is one calendar tier at work: it takes the newest snapshot of each
// period, going back in time, until it has taken what it keeps.
type tier struct {
	left    int   // how many periods it may still keep
	period  int64 // the period of the last snapshot that it took
	verdict Verdict
}

// selectTiers keeps what the tiers select, as restic does: for keep.last the
// newest ready snapshots; for each calendar tier the newest ready snapshot of
// each of the most recent periods that contain one. Held snapshots count: they
// are there.
func (d *decider) selectTiers(loc *time.Location) {
	for _, i := range d.ready[:min(max(d.keep.Last, 0), len(d.ready))] {
		d.selects(i, KeptLast)
	}

	tiers := [...]tier{
		{left: d.keep.Hourly, verdict: KeptHourly},
		{left: d.keep.Daily, verdict: KeptDaily},
		{left: d.keep.Weekly, verdict: KeptWeekly},
		{left: d.keep.Monthly, verdict: KeptMonthly},
		{left: d.keep.Yearly, verdict: KeptYearly},
	}
	left := 0
	for t := range tiers {
		tiers[t].left = max(tiers[t].left, 0)
		tiers[t].period = math.MaxInt64
		left += tiers[t].left
	}
	if left == 0 {
		return
	}
	if loc == nil {
		loc = time.UTC
	}
	for _, i := range d.latestCreatedFirst() {
		periods := periodsOf(d.series.Snapshots[i].Created, loc)
		for t := range tiers {
			// Strictly earlier: where a clock set back repeats the end of a
			// day, that day is not counted twice.
			if tiers[t].left > 0 && periods[t] < tiers[t].period {
				tiers[t].period = periods[t]
				tiers[t].left--
				left--
				d.selects(i, tiers[t].verdict)
			}
		}
		if left == 0 {
			return
		}
	}
}

// selects gives a snapshot the verdict of a tier, unless a hold or an earlier
// tier has it already.
func (d *decider) selects(i int, v Verdict) {
	switch d.verdicts[i] {
	case WithinTTL, Expired, KeptNewest, NotSelected:
		d.verdicts[i] = v
	}
}

// latestCreatedFirst are the ready snapshots by creationTimestamp. That is the
// order of d.ready, unless someone changed a scheduled-at or a clock went wrong.
func (d *decider) latestCreatedFirst() []int {
	byCreation := func(a, b int) int {
		return d.series.Snapshots[b].Created.Compare(d.series.Snapshots[a].Created)
	}
	if slices.IsSortedFunc(d.ready, byCreation) {
		return d.ready
	}
	sorted := slices.Clone(d.ready)
	slices.SortStableFunc(sorted, byCreation)
	return sorted
}

// periodsOf numbers the hour, day, ISO week, month and year that a time falls
// in, in a zone. Later periods have higher numbers. A repeated hour of daylight
// saving time is an hour of its own.
func periodsOf(t time.Time, loc *time.Location) [5]int64 {
	const hour, day = 60 * 60, 24 * 60 * 60
	_, offset := t.In(loc).Zone()
	utc := t.Unix()
	local := utc + int64(offset)
	days := floorDiv(local, day)
	year, month, _ := time.Unix(local, 0).UTC().Date()
	return [...]int64{
		floorDiv(local, hour)*hour - int64(offset), // the instant at which it began
		days,
		floorDiv(days+3, 7), // ISO weeks begin on Monday; day 0 was a Thursday
		int64(year)*12 + int64(month),
		int64(year),
	}
}

// floorDiv is a/b rounded down, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
