// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"math"
	"slices"
	"time"
)

// tier is the state of one calendar tier. It selects the newest snapshot of each
// period, going back in time, until it has selected as many as it keeps.
type tier struct {
	left    int      // how many periods it may still select
	last    [2]int64 // the periods that it selected last
	verdict Verdict
}

// selects reports whether no snapshot of the period was selected yet. Going back in time, a
// period returns at most once, after one other: where the clock is set back over midnight,
// the end of a day is repeated.
func (t *tier) selects(period int64) bool {
	return period != t.last[0] && t.left > 0 && period != t.last[1]
}

// selectTiers keeps the snapshots that a tier selects, as restic does: keep.last
// selects the newest ready snapshots, each calendar tier the newest ready snapshot
// of each of the most recent periods that contain one. Held snapshots count.
func (e *evaluation) selectTiers(loc *time.Location, tolerance time.Duration) {
	for _, i := range e.ready[:min(max(e.keep.Last, 0), len(e.ready))] {
		e.selectForTier(i, KeptLast)
	}

	tiers := [...]tier{
		{left: e.keep.Hourly, verdict: KeptHourly},
		{left: e.keep.Daily, verdict: KeptDaily},
		{left: e.keep.Weekly, verdict: KeptWeekly},
		{left: e.keep.Monthly, verdict: KeptMonthly},
		{left: e.keep.Yearly, verdict: KeptYearly},
	}
	left := 0
	for t := range tiers {
		tiers[t].left = max(tiers[t].left, 0)
		tiers[t].last = [2]int64{math.MaxInt64, math.MaxInt64}
		left += tiers[t].left
	}
	if left == 0 {
		return
	}
	if loc == nil {
		loc = time.UTC
	}
	for _, i := range e.readyByPlace(tolerance) {
		periods := periodsOf(e.series.Snapshots[i].place(tolerance), loc)
		for t := range tiers {
			if tiers[t].selects(periods[t]) {
				tiers[t].last = [2]int64{periods[t], tiers[t].last[0]}
				tiers[t].left--
				left--
				e.selectForTier(i, tiers[t].verdict)
			}
		}
		if left == 0 {
			return
		}
	}
}

// selectForTier gives a snapshot the verdict of a tier, unless it is held or an
// earlier tier selected it.
func (e *evaluation) selectForTier(i int, v Verdict) {
	switch e.verdicts[i] {
	case WithinTTL, Expired, KeptNewest, NotSelected:
		e.verdicts[i] = v
	}
}

// readyByPlace returns the ready snapshots, the latest place first. That is the
// order of e.ready, unless a clock was ahead or an imported one has no slot.
func (e *evaluation) readyByPlace(tolerance time.Duration) []int {
	place := func(i int) time.Time { return e.series.Snapshots[i].place(tolerance) }
	inOrder, last := true, time.Time{}
	for k, i := range e.ready {
		at := place(i)
		if inOrder = k == 0 || !at.After(last); !inOrder {
			break
		}
		last = at
	}
	if inOrder {
		return e.ready
	}
	sorted := slices.Clone(e.ready)
	slices.SortStableFunc(sorted, func(a, b int) int { return place(b).Compare(place(a)) })
	return sorted
}

// periodsOf numbers the hour, day, ISO week, month and year that contain a time
// in a zone. The hour that daylight saving time repeats is two hours.
func periodsOf(t time.Time, loc *time.Location) [5]int64 {
	const hour, day = 60 * 60, 24 * 60 * 60
	_, offset := t.In(loc).Zone()
	utc := t.Unix()
	local := utc + int64(offset)
	days := floorDiv(local, day)
	year, month, _ := time.Unix(local, 0).UTC().Date()
	return [...]int64{
		floorDiv(local, hour)*2*day + int64(offset),
		days,
		floorDiv(days+3, 7), // ISO weeks begin on Monday; day 0 was a Thursday
		int64(year)*12 + int64(month),
		int64(year),
	}
}

// floorDiv returns a/b rounded down, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
