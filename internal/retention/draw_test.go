// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// drawAge draws an age of any order of magnitude, so coarse that ages are often
// equal.
func drawAge(t *rapid.T, label string) time.Duration {
	unit := rapid.SampledFrom([]time.Duration{10 * time.Minute, time.Hour, day, 7 * day, 31 * day, 365 * day}).Draw(t, label+" unit")
	return time.Duration(rapid.IntRange(0, 12).Draw(t, label)) * unit
}

func drawPolicy(t *rapid.T) Policy {
	ttl := rapid.SampledFrom([]time.Duration{0, 0, time.Hour, 12 * time.Hour, 5 * day, 40 * day, 800 * day})
	few := rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3})
	zone := rapid.SampledFrom([]string{"UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"}).Draw(t, "zone")
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return Policy{
		TTL:           ttl.Draw(t, "ttl"),
		Keep:          drawTiers(t, few),
		MaxCount:      rapid.SampledFrom([]int{0, 0, 1, 2, 3, 5}).Draw(t, "maxCount"),
		MinReady:      rapid.IntRange(0, 3).Draw(t, "minReady"),
		MinVerified:   rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "minVerified"),
		ReadyDeadline: rapid.SampledFrom([]time.Duration{time.Hour, day}).Draw(t, "readyDeadline"),
		Location:      loc,
		Detached:      Detached{TTL: ttl.Draw(t, "detached ttl"), MinReady: rapid.IntRange(0, 2).Draw(t, "detached minReady")},
	}
}

func drawTiers(t *rapid.T, of *rapid.Generator[int]) (keep Tiers) {
	for i, tier := range TierTable {
		keep[i] = of.Draw(t, tier.Name)
	}
	return keep
}

// drawSeries draws a series. A regular one is what clocks and drivers that are
// right produce: snapshots are taken one at a time, so that slots, creations and
// cuts have the same order. In any other, all of them may be wrong, and some
// snapshots are imported.
func drawSeries(t *rapid.T, p Policy, regular bool) Series {
	s := Series{
		VolumeFull:    rapid.IntRange(0, 3).Draw(t, "volume is full") == 0,
		Claim:         rapid.SampledFrom([]Claim{Selected, Selected, Unselected, Gone}).Draw(t, "claim"),
		ClaimDeleting: rapid.IntRange(0, 4).Draw(t, "claimDeleting") == 0,
		Slot:          drawSlot(t, p),
	}
	count := rapid.IntRange(0, 12).Draw(t, "count")
	ages := make([]time.Duration, count)
	for i := range ages {
		ages[i] = drawAge(t, "age")
	}
	slices.Sort(ages)
	for i := range ages {
		if regular && i > 0 && ages[i] <= ages[i-1] {
			ages[i] = ages[i-1] + time.Minute
		}
	}
	for i, age := range ages {
		s.Snapshots = append(s.Snapshots, drawSnapshot(t, i, age, regular))
	}
	if regular {
		for i := range s.Snapshots { // cut late, but before the next one was created
			late := time.Duration(rapid.IntRange(0, 59).Draw(t, "late")) * time.Second
			if s.Snapshots[i].HasCutTime && (i > 0 || late < ages[i]) {
				s.Snapshots[i].CutTime = s.Snapshots[i].Created.Add(late)
			}
		}
	}
	return s
}

// drawSlot draws a current slot, which is within the TTL, or none.
func drawSlot(t *rapid.T, p Policy) time.Time {
	if rapid.IntRange(0, 3).Draw(t, "no slot") == 0 {
		return time.Time{}
	}
	age := drawAge(t, "slot age")
	if rapid.Bool().Draw(t, "slot now") || (p.TTL > 0 && age >= p.TTL) {
		age = 0
	}
	return noon.Add(-age)
}

func drawSnapshot(t *rapid.T, i int, age time.Duration, regular bool) Snapshot {
	var s Snapshot
	switch rapid.SampledFrom([]string{"ready", "ready", "ready", "ready", "uncut", "uploading", "in error"}).Draw(t, "state") {
	case "ready":
		s = ready(age)
	case "uncut":
		s = uncut(age)
		s.HasError = rapid.Bool().Draw(t, "error")
	case "uploading":
		s = uploading(age)
	case "in error":
		s = inError(age).since(noon.Add(-min(age, drawAge(t, "error age"))))
	}
	s.Name = fmt.Sprintf("s%02d", (i*7)%13)
	s.Deleting = rapid.IntRange(0, 9).Draw(t, "deleting") == 0
	switch rapid.IntRange(0, 11).Draw(t, "hold") {
	case 0:
		s = s.held(Forever)
	case 1:
		s = s.held(noon.Add(drawAge(t, "held")))
	case 2:
		s = s.held(noon.Add(-drawAge(t, "held until")))
	case 3:
		s = s.restoring()
	}
	s = drawDrills(t, s)
	if regular {
		return s
	}
	switch rapid.IntRange(0, 9).Draw(t, "scheduled-at") {
	case 0:
		s.ScheduledAt = time.Time{}
	case 1:
		s.ScheduledAt = noon.Add(drawAge(t, "ahead"))
	case 2:
		s.ScheduledAt = noon.Add(-drawAge(t, "wrong"))
	}
	switch rapid.IntRange(0, 9).Draw(t, "cut") {
	case 0:
		s = s.cut(time.Unix(0, 0))
	case 1:
		s = s.cut(noon.Add(drawAge(t, "cut ahead")))
	case 2:
		s = s.cut(noon.Add(-drawAge(t, "cut wrong")))
	case 3:
		s.HasCutTime = false // of ready ones too
	}
	if s.Imported = rapid.IntRange(0, 5).Draw(t, "imported") == 0; s.Imported && rapid.Bool().Draw(t, "without a slot") {
		s.ScheduledAt = time.Time{}
	}
	return s
}

// drawDrills draws what the annotations of drills say, now and then of a future one.
func drawDrills(t *rapid.T, s Snapshot) Snapshot {
	for _, at := range []*time.Time{&s.VerifiedAt, &s.VerifyFailedAt} {
		switch rapid.IntRange(0, 5).Draw(t, "drill") {
		case 0, 1:
			*at = noon.Add(-drawAge(t, "drilled"))
		case 2:
			*at = noon.Add(drawAge(t, "drilled ahead"))
		}
	}
	return s
}

// drawLater draws a time after noon such that no scheduled-at, no driver's
// creation time and no drill lies between the two.
func drawLater(t *rapid.T, s Series) time.Time {
	later := drawAge(t, "later")
	for i := range s.Snapshots {
		x := &s.Snapshots[i]
		for _, at := range []time.Time{x.ScheduledAt, x.CutTime, x.VerifiedAt, x.VerifyFailedAt} {
			if at.After(noon) && at.Sub(noon) <= later {
				later = at.Sub(noon) - 1
			}
		}
	}
	return noon.Add(later)
}

// decideWithoutSparing decides as Decide does, but spares nothing for an error that may pass.
func decideWithoutSparing(p Policy, now time.Time, s Series) Decision {
	d := decide(p, now, s)
	d.keepVerified(p, now, s)
	return d
}

// remaining returns the series without the snapshots that a decision deletes.
func remaining(s Series, d Decision) Series {
	rest := s
	rest.Snapshots = nil
	for i, v := range d.Verdicts {
		if !v.Delete() {
			rest.Snapshots = append(rest.Snapshots, s.Snapshots[i])
		}
	}
	return rest
}

func countReady(s Series) (n int) {
	for i := range s.Snapshots {
		if s.Snapshots[i].IsReady() {
			n++
		}
	}
	return n
}
