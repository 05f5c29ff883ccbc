// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: SLOT-10.
func TestSlotFallsBackToCreation(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		want     time.Duration // before noon
	}{
		"scheduled-at":                     {ready(time.Hour).slot(noon.Add(-2 * time.Hour)), 2 * time.Hour},
		"creation if missing or malformed": {ready(time.Hour).slot(time.Time{}), time.Hour},
		"creation if later than now":       {ready(time.Hour).slot(noon.Add(1)), time.Hour},
		"creation if next year":            {ready(time.Hour).slot(noon.AddDate(1, 0, 0)), time.Hour},
		"scheduled-at if equal to now":     {ready(time.Hour).slot(noon), 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.Slot(noon); !got.Equal(noon.Add(-tc.want)) {
				t.Errorf("Slot = %v, want %v before noon", got, tc.want)
			}
		})
	}
}

// Contract: RET-8.
func TestAgeBaseIgnoresWrongCreationTimes(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		want     time.Duration // before noon
	}{
		"creation if uncut":                        {uncut(2 * time.Hour), 2 * time.Hour},
		"creation if cut at once":                  {ready(2 * time.Hour), 2 * time.Hour},
		"creation time if cut late":                {ready(2 * time.Hour).cut(noon.Add(-time.Hour)), time.Hour},
		"creation time if cut now":                 {ready(2 * time.Hour).cut(noon), 0},
		"creation if the driver reports 1970":      {ready(2 * time.Hour).cut(time.Unix(0, 0)), 2 * time.Hour},
		"creation if the driver reports year 1":    {ready(2 * time.Hour).cut(time.Time{}), 2 * time.Hour},
		"creation if the driver reports next year": {ready(2 * time.Hour).cut(noon.AddDate(1, 0, 0)), 2 * time.Hour},
		"creation if the driver is just ahead":     {ready(2 * time.Hour).cut(noon.Add(1)), 2 * time.Hour},
		"creation, even ahead of the local clock":  {ready(-time.Minute), -time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.AgeBase(noon); !got.Equal(noon.Add(-tc.want)) {
				t.Errorf("AgeBase = %v, want %v before noon", got, tc.want)
			}
		})
	}
}
