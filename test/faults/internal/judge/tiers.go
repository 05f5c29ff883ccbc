// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
)

// period identifies an hour, a day, a week, a month or a year.
type period [5]int

func hourOf(t time.Time) period {
	_, offset := t.Zone()
	return period{t.Year(), int(t.Month()), t.Day(), t.Hour(), offset}
}

func dayOf(t time.Time) period { return period{t.Year(), int(t.Month()), t.Day()} }

func weekOf(t time.Time) period {
	year, week := t.ISOWeek()
	return period{year, week}
}

func monthOf(t time.Time) period { return period{t.Year(), int(t.Month())} }

func yearOf(t time.Time) period { return period{t.Year()} }

// tierKept returns the snapshots that tiers select: the newest ones, and of each of the most recent periods the one with the latest place.
func (e *series) tierKept() map[*snapshotv1.VolumeSnapshot]bool {
	_, keep := e.limits()
	kept := map[*snapshotv1.VolumeSnapshot]bool{}
	ready := readyOnes(e.snapshots)
	for _, s := range ready[:min(len(ready), int(keep.Last))] {
		kept[s] = true
	}
	slices.SortStableFunc(ready, func(a, b *snapshotv1.VolumeSnapshot) int { return placeOf(b).Compare(placeOf(a)) })
	for _, tier := range []struct {
		periods int32
		of      func(time.Time) period
	}{
		{keep.Hourly, hourOf}, {keep.Daily, dayOf}, {keep.Weekly, weekOf}, {keep.Monthly, monthOf}, {keep.Yearly, yearOf},
	} {
		seen := map[period]bool{}
		for _, s := range ready {
			if p := tier.of(placeOf(s).In(e.zone)); !seen[p] && len(seen) < int(tier.periods) {
				seen[p], kept[s] = true, true
			}
		}
	}
	return kept
}
