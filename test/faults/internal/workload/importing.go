// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// imported is a snapshot that a user made from a content, and labeled for the
// schedule. Its content is missing, so that it never gets a status.
func imported(name string, age time.Duration) taken {
	return taken{Name: name, Age: age, Imported: true, Orphan: true}
}

func imports() Workload {
	withSlot := imported("with-slot", minute)
	withSlot.Slot = 30 * minute
	ofGone := imported("of-gone", 2*hour)
	ofGone.Gone = "3bd0e9a4-7a0b-4c0e-8f5e-0c9f3f1f7c11"
	return Workload{
		Name:    "imports",
		What:    "snapshots without a status were imported: they block no slot, and go by age",
		Deletes: true,
		Imports: true,
		Prepare: given(spec{SnapshotTTL: "1d"},
			claim("data-0", ready(5*hour+30*minute), imported("old", 2*hour), imported("without-slot", 10*minute)),
			claim("data-1", ready(5*hour+30*minute), withSlot),
			claim("data-2", ready(30*hour), imported("expired", 26*hour), current(), ofGone)),
		End: all(exist("old", "without-slot", "with-slot", "of-gone"), isDeleted("expired", "data-2-old-0"),
			hasReady("data-0", 2), hasReady("data-1", 1), hasReady("data-2", 1),
			owns(8), detachedKeys(1), settled(v1alpha1.ReasonScheduled)),
	}
}

// restored snapshots were taken on five days, and created again an hour ago.
func restored() Workload {
	var all5 []taken
	for days := 5; days > 0; days-- {
		all5 = append(all5, taken{Age: hour, Slot: time.Duration(days) * 24 * hour, Orphan: true})
	}
	return Workload{
		Name:    "restored",
		What:    "a backup tool has restored daily snapshots, all in one hour; tiers keep those of three days",
		Deletes: true,
		Prepare: given(spec{Suspend: true, Retention: v1alpha1.Retention{Keep: v1alpha1.Keep{Daily: 3}}}, claim("data-0", all5...)),
		End:     all(keeps("data-0", "data-0-old-2", "data-0-old-3", "data-0-old-4"), settled(v1alpha1.ReasonSuspended)),
	}
}

// overdue: the last slot is older than the TTL, so that no snapshot is due.
func overdue() Workload {
	return Workload{
		Name: "overdue",
		What: "a snapshot has been uploading for hours, and the TTL is shorter than the interval",
		Prepare: given(spec{SnapshotTTL: "20m"},
			claim("data-0", taken{Age: 5*hour + 30*minute, Unready: true}), claim("data-1", current())),
		End: all(hasCount("data-0", 1), hasReady("data-1", 1), settled(v1alpha1.ReasonSnapshotsFailing)),
	}
}
