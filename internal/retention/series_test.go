// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

func TestNewestGoesBySlotThenCreationThenName(t *testing.T) {
	ago := func(age time.Duration) time.Time { return noon.Add(-age) }
	tests := map[string]struct {
		snapshots       []Snapshot
		want, wantReady int
	}{
		"none in an empty series": {nil, -1, -1},
		"the latest scheduled-at": {
			[]Snapshot{ready(3 * time.Hour), ready(time.Hour), ready(2 * time.Hour)}, 1, 1,
		},
		"scheduled-at overrides creation": {
			[]Snapshot{ready(3 * time.Hour).slot(ago(time.Minute)), ready(time.Hour)}, 0, 0,
		},
		"creation decides between equal slots": {
			[]Snapshot{ready(3 * time.Hour).slot(ago(day)), ready(2 * time.Hour).slot(ago(day))}, 1, 1,
		},
		"the name decides between equal creations": {
			[]Snapshot{ready(time.Hour).named("a"), ready(time.Hour).named("c"), ready(time.Hour).named("b")}, 1, 1,
		},
		"a future scheduled-at counts as the creation": {
			[]Snapshot{ready(3 * time.Hour).slot(noon.Add(time.Hour)), ready(2 * time.Hour)}, 1, 1,
		},
		"the driver's creation time does not count": {
			[]Snapshot{ready(3 * time.Hour).cut(noon), ready(2 * time.Hour)}, 1, 1,
		},
		"the newest may be unready": {
			[]Snapshot{ready(3 * time.Hour), uncut(time.Minute)}, 1, 0,
		},
		"the newest may be terminating": {
			[]Snapshot{ready(3 * time.Hour), ready(time.Minute).deleting()}, 1, 0,
		},
		"an imported one is not the newest that was taken": {
			[]Snapshot{ready(3 * time.Hour), importedReady(time.Hour).slot(ago(time.Minute)), importedReady(30 * time.Second)}, 0, 2,
		},
		"no newest ready one if none is ready": {
			[]Snapshot{uploading(time.Hour), inError(3 * time.Hour)}, 0, -1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Newest(tc.snapshots, noon); got != tc.want {
				t.Errorf("Newest = %d, want %d", got, tc.want)
			}
			if got := NewestReady(tc.snapshots, noon); got != tc.wantReady {
				t.Errorf("NewestReady = %d, want %d", got, tc.wantReady)
			}
		})
	}
}

func TestCoveredByASnapshotAtOrAfterTheSlot(t *testing.T) {
	slot := noon.Add(-time.Hour)
	tests := map[string]struct {
		snapshots []Snapshot
		want      bool
	}{
		"not by no snapshot":                         {nil, false},
		"not by an older one":                        {[]Snapshot{ready(2 * time.Hour)}, false},
		"by one at the slot":                         {[]Snapshot{ready(30 * time.Minute).slot(slot)}, true},
		"by one after the slot":                      {[]Snapshot{ready(30 * time.Minute)}, true},
		"not by one created after for a slot before": {[]Snapshot{ready(30 * time.Minute).slot(slot.Add(-time.Second))}, false},
		"by one created after without a slot":        {[]Snapshot{ready(30 * time.Minute).slot(time.Time{})}, true},
		"by a failed one, for its own slot":          {[]Snapshot{uncut(time.Hour)}, true},
		"by a terminating one":                       {[]Snapshot{ready(time.Hour).deleting()}, true},
		"by an imported one with a slot":             {[]Snapshot{imported(0).slot(slot)}, true},
		"not by an imported one without":             {[]Snapshot{importedReady(0)}, false},
		"not by an imported one of a future":         {[]Snapshot{importedReady(0).slot(noon.Add(time.Second))}, false},
		"not by a slot in the future, from a clock that ran ahead": {
			[]Snapshot{ready(2 * time.Hour).slot(noon.AddDate(1, 0, 0))}, false,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Covered(tc.snapshots, slot, noon); got != tc.want {
				t.Errorf("Covered = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestLastSlot(t *testing.T) {
	if got := LastSlot(nil, noon); !got.IsZero() {
		t.Errorf("of no snapshots it is %v", got)
	}
	if got, want := LastSlot([]Snapshot{ready(2 * day), imported(0), ready(day).deleting()}, noon), noon.Add(-day); !got.Equal(want) {
		t.Errorf("LastSlot = %v, want %v", got, want)
	}
}
