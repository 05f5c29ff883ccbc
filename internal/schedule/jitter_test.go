// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The values are those of the first release. If they change, every slot of
// every installation shifts on upgrade.
//
// Contract: SLOT-4.
func TestJitterNeverChanges(t *testing.T) {
	tests := map[string]struct {
		uid   string
		limit time.Duration
		want  time.Duration
	}{
		"zero without a limit":      {uid: "a", limit: 0, want: 0},
		"zero for a negative limit": {uid: "a", limit: -time.Hour, want: 0},
		"zero below a second":       {uid: "a", limit: 999 * time.Millisecond, want: 0},
		"zero for one second":       {uid: "a", limit: time.Second, want: 0},
		"a UID in 15 minutes":       {uid: "6f1c2a0e-9d3b-4a77-8e55-0c1d2e3f4a5b", limit: 15 * time.Minute, want: time.Minute + 25*time.Second},
		"another UID in 15 minutes": {uid: "6f1c2a0e-9d3b-4a77-8e55-0c1d2e3f4a5c", limit: 15 * time.Minute, want: 2*time.Minute + 54*time.Second},
		"the longest limit":         {uid: "6f1c2a0e-9d3b-4a77-8e55-0c1d2e3f4a5b", limit: maxDuration, want: 718509*time.Hour + time.Minute + 25*time.Second},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Jitter(tc.uid, tc.limit); got != tc.want {
				t.Errorf("Jitter(%q, %v) = %v, want %v", tc.uid, tc.limit, got, tc.want)
			}
		})
	}
}

// Contract: SLOT-4.
func TestJitterIsWholeSecondsBelowItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		uid := rapid.String().Draw(t, "uid")
		limit := time.Duration(rapid.Int64Range(int64(time.Second), int64(maxDuration)).Draw(t, "limit"))
		got := Jitter(uid, limit)
		if got < 0 || got >= limit || got%time.Second != 0 {
			t.Fatalf("Jitter(%q, %v) = %v", uid, limit, got)
		}
	})
}

func TestJitterSpreadsEvenly(t *testing.T) {
	const buckets, uids = 10, 10000
	var counts [buckets]int
	for i := range uids {
		uid := fmt.Sprintf("6f1c2a0e-9d3b-4a77-8e55-%012x", i)
		counts[Jitter(uid, time.Hour)/(time.Hour/buckets)]++
	}
	for i, n := range counts {
		if n < uids/buckets*8/10 || n > uids/buckets*12/10 {
			t.Errorf("bucket %d of %d holds %d of %d", i, buckets, n, uids)
		}
	}
}
