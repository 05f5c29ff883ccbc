// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

func TestNewest(t *testing.T) {
	ago := func(age time.Duration) time.Time { return noon.Add(-age) }
	tests := map[string]struct {
		snapshots       []Snapshot
		want, wantReady int
	}{
		"none": {nil, -1, -1},
		"the highest scheduled-at": {
			[]Snapshot{ready(3 * time.Hour), ready(time.Hour), ready(2 * time.Hour)}, 1, 1,
		},
		"scheduled-at before creation": {
			[]Snapshot{ready(3 * time.Hour).slot(ago(time.Minute)), ready(time.Hour)}, 0, 0,
		},
		"then creation": {
			[]Snapshot{ready(3 * time.Hour).slot(ago(day)), ready(2 * time.Hour).slot(ago(day))}, 1, 1,
		},
		"then the name": {
			[]Snapshot{ready(time.Hour).named("a"), ready(time.Hour).named("c"), ready(time.Hour).named("b")}, 1, 1,
		},
		"a scheduled-at later than now counts as the creation": {
			[]Snapshot{ready(3 * time.Hour).slot(noon.Add(time.Hour)), ready(2 * time.Hour)}, 1, 1,
		},
		"a creation time of the driver's does not count": {
			[]Snapshot{ready(3 * time.Hour).cut(noon), ready(2 * time.Hour)}, 1, 1,
		},
		"the newest may be unready": {
			[]Snapshot{ready(3 * time.Hour), uncut(time.Minute)}, 1, 0,
		},
		"or terminating": {
			[]Snapshot{ready(3 * time.Hour), ready(time.Minute).deleting()}, 1, 0,
		},
		"none ready": {
			[]Snapshot{uploading(time.Hour), erring(3 * time.Hour)}, 0, -1,
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

func TestServed(t *testing.T) {
	slot := noon.Add(-time.Hour)
	tests := map[string]struct {
		snapshots []Snapshot
		want      bool
	}{
		"no snapshot":                      {nil, false},
		"an older one":                     {[]Snapshot{ready(2 * time.Hour)}, false},
		"at the slot":                      {[]Snapshot{ready(30 * time.Minute).slot(slot)}, true},
		"after the slot":                   {[]Snapshot{ready(30 * time.Minute)}, true},
		"created after, for a slot before": {[]Snapshot{ready(30 * time.Minute).slot(slot.Add(-time.Second))}, false},
		"a malformed one, created after":   {[]Snapshot{ready(30 * time.Minute).slot(time.Time{})}, true},
		"a failed one serves its own slot": {[]Snapshot{uncut(time.Hour)}, true},
		"a terminating one, until gone":    {[]Snapshot{ready(time.Hour).deleting()}, true},
		"a clock that once ran ahead must not stop backups": {
			[]Snapshot{ready(2 * time.Hour).slot(noon.AddDate(1, 0, 0))}, false,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Covered(tc.snapshots, slot, noon); got != tc.want {
				t.Errorf("Served = %v, want %v", got, tc.want)
			}
		})
	}
}
