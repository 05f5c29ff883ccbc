// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/retention"
)

func TestEveryVerdictIsExplained(t *testing.T) {
	for v := retention.NoLimit; v <= retention.Superseded; v++ {
		if verdictWords[v] == "" {
			t.Errorf("%s has no explanation", v)
		}
	}
}

func TestAxis(t *testing.T) {
	for name, test := range map[string]struct {
		axis axis
		want map[int]int // hours to column
	}{
		"evenly, if every snapshot has a place": {newAxis(25, 24*time.Hour, time.Hour), map[int]int{0: 24, 1: 23, 12: 12, 24: 0}},
		"closer with age, if not":               {newAxis(25, 1000*time.Hour, time.Hour), map[int]int{0: 24, 1: 22, 24: 13, 1000: 0, 2000: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var hours []int
			for hour := range test.want {
				hours = append(hours, hour)
			}
			slices.Sort(hours)
			for _, hour := range hours {
				if have := test.axis.place(time.Duration(hour) * time.Hour); have != test.want[hour] {
					t.Errorf("%d hours are in column %d, want %d", hour, have, test.want[hour])
				}
			}
		})
	}
}
