// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: SLOT-10.
func TestSlot(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		want     time.Duration // before noon
	}{
		"scheduled-at":              {ready(time.Hour).slot(noon.Add(-2 * time.Hour)), 2 * time.Hour},
		"missing or malformed":      {ready(time.Hour).slot(time.Time{}), time.Hour},
		"later than now":            {ready(time.Hour).slot(noon.Add(1)), time.Hour},
		"next year":                 {ready(time.Hour).slot(noon.AddDate(1, 0, 0)), time.Hour},
		"now is not later than now": {ready(time.Hour).slot(noon), 0},
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
func TestAgeBase(t *testing.T) {
	tests := map[string]struct {
		snapshot Snapshot
		want     time.Duration // before noon
	}{
		"uncut":                          {uncut(2 * time.Hour), 2 * time.Hour},
		"cut at once":                    {ready(2 * time.Hour), 2 * time.Hour},
		"cut late":                       {ready(2 * time.Hour).cut(noon.Add(-time.Hour)), time.Hour},
		"cut now":                        {ready(2 * time.Hour).cut(noon), 0},
		"a creation time of 1970":        {ready(2 * time.Hour).cut(time.Unix(0, 0)), 2 * time.Hour},
		"a creation time of year 1":      {ready(2 * time.Hour).cut(time.Time{}), 2 * time.Hour},
		"a creation time of next year":   {ready(2 * time.Hour).cut(noon.AddDate(1, 0, 0)), 2 * time.Hour},
		"a creation time just ahead":     {ready(2 * time.Hour).cut(noon.Add(1)), 2 * time.Hour},
		"created ahead of our own clock": {ready(-time.Minute), -time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.AgeBase(noon); !got.Equal(noon.Add(-tc.want)) {
				t.Errorf("AgeBase = %v, want %v before noon", got, tc.want)
			}
		})
	}
}

// Contract: ONE-3.
func TestState(t *testing.T) {
	readyUncut := uncut(2 * time.Hour)
	readyUncut.ReadyToUse = true
	tests := map[string]struct {
		snapshot  Snapshot
		want      State
		wantUncut bool
	}{
		"ready":                              {ready(time.Minute), Ready, false},
		"ready with an error left over":      {func() Snapshot { s := erring(2 * time.Hour); s.ReadyToUse = true; return s }(), Ready, false},
		"ready without a creation time":      {readyUncut, Ready, false},
		"uncut and younger than the limit":   {uncut(time.Hour - 1), InProgress, true},
		"uncut in error and younger":         {func() Snapshot { s := uncut(time.Minute); s.HasError = true; return s }(), InProgress, true},
		"uncut and as old as the limit":      {uncut(time.Hour), Failed, true},
		"uncut in error and older":           {func() Snapshot { s := uncut(2 * time.Hour); s.HasError = true; return s }(), Failed, true},
		"cut, without an error, young":       {uploading(time.Minute), InProgress, false},
		"an upload takes as long as it must": {uploading(30 * day), InProgress, false},
		"cut, in error and young":            {erring(time.Hour - 1), Retrying, false},
		"cut, in error, as old as the limit": {erring(time.Hour), Failed, false},
		"cut late, in error: age by its own creation": {
			erring(time.Hour).cut(noon.Add(-time.Minute)), Failed, false,
		},
		"ready and terminating":     {ready(time.Minute).deleting(), Terminating, false},
		"uncut and terminating":     {uncut(time.Minute).deleting(), Terminating, true},
		"uploading and terminating": {uploading(time.Minute).deleting(), Terminating, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.snapshot.State(noon, time.Hour); got != tc.want {
				t.Errorf("State = %v, want %v", got, tc.want)
			}
			if got := tc.snapshot.Uncut(); got != tc.wantUncut {
				t.Errorf("Uncut = %v, want %v", got, tc.wantUncut)
			}
			if got := tc.snapshot.isReady(); got != (tc.want == Ready) {
				t.Errorf("Ready = %v, State %v", got, tc.want)
			}
		})
	}
}
