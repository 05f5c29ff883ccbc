// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"testing"
	"time"
)

// hourlySeries returns a series of hourly snapshots, shuffled, with a slot that
// is due.
func hourlySeries(count int) Series {
	s := Series{Slot: noon.Add(time.Second)}
	for i := range count {
		k := i * 617 % count // 617 is prime to the counts in use
		x := ready(time.Duration(k) * time.Hour)
		x.Name = fmt.Sprintf("data-0-%014d-abcdef", k)
		s.Snapshots = append(s.Snapshots, x)
	}
	return s
}

func BenchmarkDecide(b *testing.B) {
	oslo, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]Policy{
		"TTL": {TTL: 10 * day, MinReady: 1, ReadyDeadline: time.Hour},
		"tiers": {
			TTL: 10 * day, MinReady: 1, ReadyDeadline: time.Hour, MaxCount: 100, Location: oslo,
			Keep: Tiers{Last: 3, Hourly: 24, Daily: 7, Weekly: 4, Monthly: 12, Yearly: 3},
		},
	} {
		for _, count := range []int{40, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				s := hourlySeries(count)
				b.ReportAllocs()
				for b.Loop() {
					Decide(p, s.Slot, s)
				}
			})
		}
	}
}
