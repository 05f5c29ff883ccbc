// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// The anchor of the tables is 9 days and 1 hour before noon: an interval of 6h
// has slots at 11:00, 17:00 and so on.
//
// Contract: SLOT-1, SLOT-8, SLOT-11.
func TestMapInterval(t *testing.T) {
	runMap(t, map[string]mapCase{
		"first snapshot of a new PVC is due at once": {
			schedule: every("6h"), claim: claim("data").created(ago(time.Second)),
			wantCreate: ago(time.Second), wantNext: in(6*time.Hour - time.Second),
		},
		"first snapshot under a new schedule is due at once": {
			schedule:   every("6h").created(ago(time.Second)),
			wantCreate: ago(time.Second),
		},
		"served: nothing until the next slot": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(time.Hour)},
			wantNext: in(5 * time.Hour),
		},
		"the slot of this very second is due": {
			schedule: every("6h"), claim: claim("data").created(ago(12 * time.Hour)),
			snapshots:  []aSnapshot{ready(6 * time.Hour)},
			wantCreate: noon, wantNext: in(6 * time.Hour),
		},
		"of many missed slots only the newest is taken": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(9 * day)},
			wantCreate: ago(time.Hour),
		},
		"a snapshot for a newer slot serves older ones": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(10 * time.Minute)},
		},
		"a slot is served by a snapshot that was created late": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(time.Hour).created(ago(time.Minute))},
		},
		"a failed snapshot serves its slot as well": {
			schedule: every("6h"), snapshots: []aSnapshot{erring(time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotFailed,
		},
		"suspended: none": {
			schedule: every("6h").suspended(), wantNext: never,
		},
	})
}

// Contract: SLOT-2.
func TestMapCron(t *testing.T) {
	runMap(t, map[string]mapCase{
		"the newest time of the line": {
			schedule: cron("30 2 * * *", ""), wantCreate: ago(9*time.Hour + 30*time.Minute),
			wantNext: in(14*time.Hour + 30*time.Minute),
		},
		"in its zone": {
			schedule: cron("30 2 * * *", "Europe/Oslo"), wantCreate: ago(11*time.Hour + 30*time.Minute),
		},
		"a new PVC waits for the next time": {
			schedule: cron("30 2 * * *", ""), claim: claim("data").created(ago(time.Hour)),
			wantNext: in(14*time.Hour + 30*time.Minute),
		},
		"macro": {
			schedule: cron("@daily", ""), wantCreate: ago(12 * time.Hour),
		},
	})
}

// Contract: API-7, SLOT-5, SLOT-6, SLOT-7.
func TestMapRequested(t *testing.T) {
	served := []aSnapshot{ready(time.Hour)}
	at := stamp(ago(time.Minute))
	runMap(t, map[string]mapCase{
		"on the schedule": {
			schedule: every("6h").requested(at), snapshots: served, wantCreate: ago(time.Minute),
		},
		"on the PVC": {
			schedule: every("6h"), claim: claim("data").requested(at), snapshots: served, wantCreate: ago(time.Minute),
		},
		"on both: the newer": {
			schedule: every("6h").requested(stamp(ago(2 * time.Minute))), claim: claim("data").requested(at),
			snapshots: served, wantCreate: ago(time.Minute),
		},
		"taken already": {
			schedule: every("6h").requested(at), snapshots: []aSnapshot{ready(time.Hour), ready(time.Minute)},
			wantNext: in(5 * time.Hour),
		},
		"older than the current slot": {
			schedule: every("6h").requested(stamp(ago(2 * time.Hour))), snapshots: served,
		},
		"a time to come is a slot to come": {
			schedule: every("6h").requested(stamp(in(time.Minute))), snapshots: served, wantNext: in(time.Minute),
		},
		"truncated to seconds": {
			schedule:  every("6h").requested(ago(time.Minute).Add(700 * time.Millisecond).Format(time.RFC3339Nano)),
			snapshots: served, wantCreate: ago(time.Minute),
		},
		"in another zone": {
			schedule:  every("6h").requested(ago(time.Minute).In(time.FixedZone("", 2*3600)).Format(time.RFC3339)),
			snapshots: served, wantCreate: ago(time.Minute),
		},
		"works while suspended": {
			schedule: every("6h").suspended().requested(at), wantCreate: ago(time.Minute), wantNext: never,
		},
		"to come while suspended": {
			schedule: every("6h").suspended().requested(stamp(in(time.Hour))), wantNext: in(time.Hour),
		},
		"before the PVC was under the schedule": {
			schedule: every("6h").suspended().requested(stamp(ago(9*day + time.Hour + time.Second))),
		},
		"at the very anchor": {
			schedule: every("6h").suspended().requested(stamp(ago(9*day + time.Hour))), wantCreate: ago(9*day + time.Hour),
		},
		"older than the TTL": {
			schedule: every("6h").suspended().ttl("1m").requested(at),
		},
		"younger than the TTL": {
			schedule: every("6h").suspended().ttl("61s").requested(at), wantCreate: ago(time.Minute), wantNext: in(time.Second),
		},
		"older than the startingDeadline": {
			schedule: every("6h").suspended().deadline("1m").requested(at),
		},
		"malformed on the schedule: ignored (the schedule tells)": {
			schedule: every("6h").requested("tomorrow"), snapshots: served, wantNext: in(5 * time.Hour),
		},
		"malformed on the PVC: told and ignored": {
			schedule: every("6h"), claim: claim("data").requested("tomorrow"), snapshots: served,
			wantNext: in(5 * time.Hour), wantProblem: v1alpha1.ReasonInvalidRequestedAt,
		},
		"empty on the PVC: told and ignored": {
			schedule: every("6h"), claim: claim("data").requested(""), snapshots: served,
			wantProblem: v1alpha1.ReasonInvalidRequestedAt,
		},
	})
}

// Contract: API-6, SLOT-9.
func TestMapTooLate(t *testing.T) {
	runMap(t, map[string]mapCase{
		"a slot within startingDeadline is taken": {
			schedule: every("6h").deadline("2h"), wantCreate: ago(time.Hour), wantNext: in(time.Hour),
		},
		"a slot as old as startingDeadline is not; the miss is told when a whole slot passed": {
			schedule: every("6h").deadline("1h"), wantNext: in(5 * time.Hour),
			wantProblem: v1alpha1.ReasonSnapshotOverdue,
		},
		"a slot older than the TTL is not due": {
			schedule: every("6h").ttl("1h"), wantNext: in(5 * time.Hour),
		},
		"a TTL shorter than the interval takes one, not one after another": {
			schedule: every("6h").ttl("30m"), snapshots: nil, wantNext: in(5 * time.Hour),
		},
		"a TTL shorter than the interval: the floor keeps the last one": {
			schedule: every("6h").ttl("30m"), snapshots: []aSnapshot{ready(time.Hour)},
			wantEvidence: []string{"1h0m0s"}, wantNext: in(5 * time.Hour),
		},
	})
}

// Contract: SLOT-4.
func TestMapJitter(t *testing.T) {
	offset := schedule.Jitter("c-uid", 5*time.Hour)
	if offset < time.Hour || offset >= 5*time.Hour {
		t.Fatalf("the offset is %v: choose another UID for this test", offset)
	}
	slot := ago(time.Hour).Add(-6 * time.Hour).Add(offset)
	runMap(t, map[string]mapCase{
		"shifts the slots, the same way each time": {
			schedule: every("6h").jitter("5h"), claim: claim("c"), wantCreate: slot, wantNext: slot.Add(6 * time.Hour),
		},
		"is the PVC's own": {
			schedule: every("6h").jitter("5h"), claim: claim("other"),
			wantCreate: slotBefore(ago(9*day + time.Hour).Add(schedule.Jitter("other-uid", 5*time.Hour))),
		},
		"delays the first snapshot of a new PVC": {
			schedule: every("6h").jitter("5h"), claim: claim("c").created(noon),
			wantNext: noon.Add(offset),
		},
		"shifts cron times": {
			schedule: cron("0 0 * * *", "").jitter("5h"), claim: claim("c"), wantCreate: ago(12 * time.Hour).Add(offset),
		},
		"leaves requested times alone": {
			schedule: every("6h").jitter("5h").requested(stamp(ago(time.Second))), wantCreate: ago(time.Second),
		},
	})
}

// slotBefore is the latest slot of 6h steps from a first one.
func slotBefore(first time.Time) time.Time {
	return first.Add(noon.Sub(first).Truncate(6 * time.Hour))
}

// A clock that once ran ahead must not stop backups.
//
// Contract: SLOT-10.
func TestMapScheduledAtThatLies(t *testing.T) {
	runMap(t, map[string]mapCase{
		"in the future: counts as its creation": {
			schedule:   every("6h"),
			snapshots:  []aSnapshot{ready(7 * time.Hour).scheduledAt(stamp(in(365 * day)))},
			wantCreate: ago(time.Hour),
		},
		"in the future, created for this slot": {
			schedule:  every("6h"),
			snapshots: []aSnapshot{ready(time.Hour).scheduledAt(stamp(in(365 * day)))},
		},
		"in the near future: looked at again then": {
			schedule:  every("6h"),
			snapshots: []aSnapshot{ready(time.Hour).scheduledAt(stamp(in(time.Minute)))},
			wantNext:  in(time.Minute),
		},
		"malformed": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(7 * time.Hour).scheduledAt("soon")},
			wantCreate: ago(time.Hour),
		},
		"missing": {
			schedule: every("6h"), snapshots: []aSnapshot{ready(time.Minute).unscheduled()},
		},
	})
}
