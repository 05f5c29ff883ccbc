// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: ONE-1.
func TestTake(t *testing.T) {
	slot := noon.Add(-time.Minute)
	due, notDue := Take{Due: true, Blocker: -1}, Take{Blocker: -1}
	tests := map[string]struct {
		noSlot    bool
		toCome    bool
		series    Series
		snapshots []Snapshot
		want      Take
	}{
		"a new PVC":                   {want: due},
		"no slot":                     {noSlot: true, want: notDue},
		"a slot to come":              {toCome: true, want: notDue},
		"served":                      {snapshots: readies(time.Minute), want: notDue},
		"the newest serves an older":  {snapshots: readies(time.Hour, 2*time.Hour), want: due},
		"detached takes none":         {series: Series{Claim: Unselected}, want: notDue},
		"a PVC that is gone":          {series: Series{Claim: Gone}, want: notDue},
		"a PVC that is being deleted": {series: Series{ClaimDeleting: true}, want: notDue},
		"the newest is uncut and young": {
			snapshots: []Snapshot{ready(6 * time.Hour), uncut(59 * time.Minute)},
			want:      Take{Due: true, Block: BlockedInProgress, Blocker: 1},
		},
		"the newest is uploading, however long": {
			snapshots: []Snapshot{ready(90 * day), uploading(30 * day)},
			want:      Take{Due: true, Block: BlockedInProgress, Blocker: 1},
		},
		"the newest is uncut and failed": {
			snapshots: []Snapshot{ready(6 * time.Hour), uncut(time.Hour)},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 1},
		},
		"failed and held": {
			snapshots: []Snapshot{uncut(time.Hour).held(HoldAnnotation)},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 0},
		},
		"uncut and terminating": {
			snapshots: []Snapshot{uncut(30 * time.Minute).deleting()},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 0},
		},
		"any uncut one, not only the newest": {
			snapshots: []Snapshot{ready(time.Hour), uncut(6 * time.Hour), uncut(12 * time.Hour)},
			want:      Take{Due: true, Block: BlockedUncut, Blocker: 1},
		},
		"an uncut one that serves leaves nothing to block": {
			snapshots: []Snapshot{uncut(time.Minute)}, want: notDue,
		},
		"the newest is cut and in error, young": {
			snapshots: []Snapshot{erring(30 * time.Minute)}, want: due,
		},
		"the newest is cut and failed": {
			snapshots: []Snapshot{erring(6 * time.Hour)}, want: due,
		},
		"an older one that lost its readiness never blocks": {
			snapshots: []Snapshot{uploading(12 * time.Hour), ready(6 * time.Hour)}, want: due,
		},
		"the newest is terminating, and cut": {
			snapshots: []Snapshot{ready(6 * time.Hour).deleting()}, want: due,
		},
		"the newest was uploading and is terminating": {
			snapshots: []Snapshot{uploading(6 * time.Hour).deleting()}, want: due,
		},
		"ready without a creation time is not uncut": {
			snapshots: []Snapshot{func() Snapshot { s := uncut(6 * time.Hour); s.ReadyToUse = true; return s }()}, want: due,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			at := slot
			if tc.noSlot {
				at = time.Time{}
			}
			if tc.toCome {
				at = noon.Add(time.Second)
			}
			tc.series.Snapshots = tc.snapshots
			tc.series.Slot = at
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
