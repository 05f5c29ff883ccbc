// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"math"
	"slices"
	"time"
)

// Tier is a rule of spec.retention.keep. All that is said of tiers follows from TierTable.
type Tier struct {
	// Name is its field of spec.retention.keep.
	Name string
	// Longest is how long one of its periods lasts at most.
	Longest time.Duration
	// period numbers the periods of a calendar tier.
	period func(at wallClock) int64
}

// TierTable has the tiers, in the order of the fields: a snapshot that several select is kept by the first of them. The first one, last,
// has no periods.
var TierTable = [...]Tier{
	{Name: "last"},
	// The hour that daylight saving time repeats is two hours.
	{"hourly", time.Hour, func(at wallClock) int64 { return at.hour*2*secondsOfDay + at.offset }},
	{"daily", 24 * time.Hour, func(at wallClock) int64 { return at.day }},
	// ISO weeks begin on Monday; day 0 was a Thursday.
	{"weekly", 7 * 24 * time.Hour, func(at wallClock) int64 { return floorDiv(at.day+3, 7) }},
	{"monthly", 31 * 24 * time.Hour, func(at wallClock) int64 { return at.year*12 + at.month }},
	{"yearly", 366 * 24 * time.Hour, func(at wallClock) int64 { return at.year }},
}

// Tiers are the numbers of snapshots that each tier of TierTable keeps.
type Tiers [len(TierTable)]int

// selectTiers keeps the snapshots that a tier selects, as restic does: keep.last
// selects the newest ready snapshots, each calendar tier the newest ready snapshot
// of each of the most recent periods that contain one. Held snapshots count.
func (e *evaluation) selectTiers(loc *time.Location, tolerance time.Duration) {
	const last = 0 // the tier without periods
	for _, i := range e.ready[:min(max(e.keep[last], 0), len(e.ready))] {
		e.selectForTier(i, KeptLast)
	}
	left, open := e.keep, 0
	var selected [len(TierTable)][2]int64 // the periods that each tier selected last
	for t := range TierTable {
		if left[t] > 0 && t != last {
			open++
		} else {
			left[t] = 0
		}
		selected[t] = [2]int64{math.MaxInt64, math.MaxInt64}
	}
	if open == 0 {
		return
	}
	if loc == nil {
		loc = time.UTC
	}
	for _, i := range e.readyByPlace(tolerance) {
		at := wallClockOf(e.series.Snapshots[i].place(tolerance), loc)
		for t := range TierTable {
			if left[t] == 0 {
				continue
			}
			// Going back in time, a period returns at most once, after one other: where the clock is set back over midnight, the
			// end of a day is repeated.
			period := TierTable[t].period(at)
			if period == selected[t][0] || period == selected[t][1] {
				continue
			}
			selected[t] = [2]int64{period, selected[t][0]}
			e.selectForTier(i, KeptLast+Verdict(t))
			if left[t]--; left[t] == 0 {
				open--
			}
		}
		if open == 0 {
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

const secondsOfDay = 24 * 60 * 60

// wallClock is what clocks of a zone show: hours and days since 1970, and the offset from UTC in seconds.
type wallClock struct{ hour, offset, day, month, year int64 }

func wallClockOf(t time.Time, loc *time.Location) wallClock {
	_, offset := t.In(loc).Zone()
	second := t.Unix() + int64(offset)
	year, month, _ := time.Unix(second, 0).UTC().Date()
	return wallClock{floorDiv(second, 60*60), int64(offset), floorDiv(second, secondsOfDay), int64(month), int64(year)}
}

// floorDiv returns a/b rounded down, for b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
