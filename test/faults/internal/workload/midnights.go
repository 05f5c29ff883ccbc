// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
)

// midnights: every second snapshot of data-0 was stamped by an API server whose clock was behind. The last of data-1 but one was taken
// by an operator whose clock was ahead by a day: it counts on the day on which it was taken.
func midnights() Workload {
	return Workload{
		Name:    "midnights",
		What:    "daily snapshots were stamped a second before midnight, and one by a clock that was a day ahead; tiers keep those of five days",
		Deletes: true,
		Prepare: func(ctx context.Context, r *environment.Run) error {
			today := r.Now.UTC().Truncate(24 * hour)
			at := func(days int) time.Duration { return r.Now.Sub(today.AddDate(0, 0, -days)) }
			var stamped, ahead []taken
			for days := 7; days >= 0; days-- {
				stamped = append(stamped, taken{Age: at(days) + time.Duration(days%2)*time.Second, Slot: at(days)})
			}
			for days := 5; days >= 1; days-- {
				ahead = append(ahead, taken{Age: at(days), Slot: at(days)})
			}
			ahead = append(ahead, taken{Name: "ahead", Age: at(3) - 12*hour, Slot: at(2) - 12*hour})
			return create(ctx, r, age, spec{Suspend: true, Schedule: "@daily", Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 5}}},
				claim("data-0", stamped...), claim("data-1", ahead...))
		},
		End: all(keeps("data-0", "data-0-old-3", "data-0-old-4", "data-0-old-5", "data-0-old-6", "data-0-old-7"),
			keeps("data-1", "data-1-old-0", "data-1-old-1", "ahead", "data-1-old-3", "data-1-old-4"), settled(v1alpha1.ReasonSuspended)),
	}
}
