// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"testing"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// A schedule that took groups once may have group snapshots left, which go with it.
func TestGroupsThatMayBeLeftAreMissedAloud(t *testing.T) {
	s := clitest.Schedule("single", v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "24h"})
	for left, want := range map[int32]int{0: 0, 2: 1} {
		s.Status.Outputs.VolumeGroupSnapshots = &v1alpha1.OutputCount{Total: left}
		needed := 0
		inv := &view.Inventory{NeedsGroups: func() { needed++ }}
		if inv.SeriesOf(s); needed != want {
			t.Errorf("%d group snapshots are left: needed %d times, want %d", left, needed, want)
		}
	}
}
