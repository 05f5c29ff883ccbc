// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"
	"testing"
)

// Contract: RET-12.
func TestClockPlansPass(t *testing.T) {
	for _, r := range RunClocks(nil, func(Result, int, int) {}) {
		if r.Err != nil {
			t.Errorf("%s: %v", r.ID, r.Err)
		}
	}
}

func TestClockPlansHaveUniqueIDs(t *testing.T) {
	var ids []string
	for _, p := range ClockPlans() {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if n := len(ids); n < 20 {
		t.Errorf("%d plans, want at least 20", n)
	}
	if n := len(slices.Compact(ids)); n != len(ids) {
		t.Errorf("%d IDs for %d plans", n, len(ids))
	}
}
