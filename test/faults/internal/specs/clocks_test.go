// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"
	"testing"
)

func TestClocks(t *testing.T) {
	for _, r := range RunClocks(nil, nil) {
		if !r.Passed {
			t.Errorf("%s: %s", r.ID, r.Why)
		}
	}
}

func TestClockPlans(t *testing.T) {
	var ids []string
	for _, p := range ClockPlans() {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	if n := len(ids); n < 20 {
		t.Errorf("%d plans, want 20 at least", n)
	}
	if n := len(slices.Compact(ids)); n != len(ids) {
		t.Errorf("%d ids for %d plans", n, len(ids))
	}
}
