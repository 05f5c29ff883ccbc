// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Contract: CLI-43.
func TestARequestCountsAGroupOnce(t *testing.T) {
	alone, grouped := &v1alpha1.SnapshotSchedule{}, &v1alpha1.SnapshotSchedule{Spec: v1alpha1.SnapshotScheduleSpec{Group: &v1alpha1.Group{}}}
	of := func(s *v1alpha1.SnapshotSchedule, key string) *target { return &target{schedule: s, key: key} }
	for want, targets := range map[string][]*target{
		"0 snapshots":                              {},
		"2 snapshots":                              {of(alone, "a"), of(alone, "b")},
		"1 group snapshot of 2 PVCs":               {of(grouped, "g"), of(grouped, "g")},
		"2 group snapshots of 3 PVCs":              {of(grouped, "g"), of(grouped, "g"), of(grouped, "h")},
		"1 snapshot and 1 group snapshot of 1 PVC": {of(alone, "a"), of(grouped, "g")},
	} {
		if got := counted(targets); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
