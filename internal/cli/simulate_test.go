// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// One series with up to 31 snapshots, through 30 days of hourly snapshots.
func BenchmarkSimulate(b *testing.B) {
	spec := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h"}
	spec.Retention.Keep = v1alpha1.Keep{Hourly: 24, Daily: 7}
	judge, err := snapshots.NewJudge(scheme, testSchedule("nightly", spec), anyClass)
	if err != nil {
		b.Fatal(err)
	}
	claim := testClaim("data", nil)
	for b.Loop() {
		sim := simulate(judge, start, &series{mapKey: string(claim.UID), claim: claim})
		for more := true; more && sim.now.Before(start.AddDate(0, 0, 30)); {
			_, _, more = sim.step()
		}
		b.ReportMetric(float64(sim.steps), "steps")
	}
}
