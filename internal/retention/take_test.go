// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: ONE-1.
func TestDecideTakesOneSnapshotAtATime(t *testing.T) {
	slot := noon.Add(-time.Minute)
	due, notDue := Take{Due: true, Blocker: -1}, Take{Blocker: -1}
	tests := map[string]struct {
		noSlot    bool
		series    Series
		snapshots []Snapshot
		want      Take
	}{
		"due for a new PVC":                      {want: due},
		"not due without a slot":                 {noSlot: true, want: notDue},
		"not due before the slot":                {series: Series{Slot: noon.Add(time.Second)}, want: notDue},
		"not due when the slot is covered":       {snapshots: []Snapshot{ready(time.Minute)}, want: notDue},
		"due when only older slots are covered":  {snapshots: []Snapshot{ready(time.Hour), ready(2 * time.Hour)}, want: due},
		"not due when the PVC is not selected":   {series: Series{Claim: Unselected}, want: notDue},
		"not due when the PVC is gone":           {series: Series{Claim: Gone}, want: notDue},
		"not due while the PVC is being deleted": {series: Series{ClaimDeleting: true}, want: notDue},
		"blocked by an uncut young newest": {
			snapshots: []Snapshot{ready(6 * time.Hour), uncut(59 * time.Minute)},
			want:      Take{Due: true, Block: BlockedInProgress, Blocker: 1},
		},
		"blocked by an uploading newest, however old": {
			snapshots: []Snapshot{ready(90 * day), uploading(30 * day)},
			want:      Take{Due: true, Block: BlockedInProgress, Blocker: 1},
		},
		"blocked by an uncut failed newest": {
			snapshots: []Snapshot{ready(6 * time.Hour), uncut(time.Hour)},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 1},
		},
		"blocked by an uncut failed held one": {
			snapshots: []Snapshot{uncut(time.Hour).held(Forever)}, // which is deleted
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 0},
		},
		"blocked by an uncut terminating one": {
			snapshots: []Snapshot{uncut(30 * time.Minute).deleting()},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 0},
		},
		"blocked by the newest of several uncut ones": {
			snapshots: []Snapshot{ready(time.Hour), uncut(6 * time.Hour), uncut(12 * time.Hour)},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 1},
		},
		"not due when an uncut one covers the slot": {
			snapshots: []Snapshot{uncut(time.Minute)}, want: Take{Block: BlockedInProgress, Blocker: 0},
		},
		"due when the newest is cut, in error and young": {
			snapshots: []Snapshot{inError(30 * time.Minute)}, want: due,
		},
		"due when the newest is cut and failed": {
			snapshots: []Snapshot{inError(6 * time.Hour)}, want: due,
		},
		"due when an older one lost its readiness": {
			snapshots: []Snapshot{uploading(12 * time.Hour), ready(6 * time.Hour)}, want: due,
		},
		"due when the newest is cut and terminating": {
			snapshots: []Snapshot{ready(6 * time.Hour).deleting()}, want: due,
		},
		"due when the newest was uploading and is terminating": {
			snapshots: []Snapshot{uploading(6 * time.Hour).deleting()}, want: due,
		},
		"due when the newest is ready without a creation time": {
			snapshots: []Snapshot{readyUncut(6 * time.Hour)}, want: due,
		},
		"due beside an imported one without a creation time": {snapshots: []Snapshot{imported(time.Second)}, want: due},
		"due beside an imported one that is being deleted":   {snapshots: []Snapshot{imported(day).deleting()}, want: due},
		"due when an imported one has no slot, however new":  {snapshots: []Snapshot{importedReady(0)}, want: due},
		"due when an imported one has a slot in the future":  {snapshots: []Snapshot{importedReady(0).slot(noon.Add(day))}, want: due},
		"due when an imported one has an older slot":         {snapshots: []Snapshot{importedReady(0).slot(noon.Add(-day))}, want: due},
		"not due when an imported one has the slot":          {snapshots: []Snapshot{imported(0).slot(slot)}, want: notDue},
		"blocked by an upload that is older than imported ones": {
			snapshots: []Snapshot{uploading(6 * time.Hour), importedReady(time.Hour), importedReady(0).slot(noon.Add(-2 * time.Hour))},
			want:      Take{Due: true, Block: BlockedInProgress, Blocker: 0},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.series.Slot.IsZero() && !tc.noSlot {
				tc.series.Slot = slot
			}
			tc.series.Snapshots = tc.snapshots
			got := Decide(Policy{ReadyDeadline: time.Hour}, noon, tc.series).Take
			if got != tc.want {
				t.Errorf("Take = %+v, want %+v", got, tc.want)
			}
			if got.Create() != (tc.want == due) {
				t.Errorf("Create = %v for %+v", got.Create(), got)
			}
		})
	}
}
