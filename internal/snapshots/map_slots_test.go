// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

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
			wantCreate: ago(time.Second), wantNext: in(time.Hour - time.Second), // then it is no longer pending, but unprotected
		},
		"first snapshot under a new schedule is due at once": {
			schedule: every("6h").created(ago(time.Second)), wantCreate: ago(time.Second),
		},
		"covered: nothing until the next slot": {
			schedule: every("6h"), snapshots: series{ready(time.Hour)}, wantNext: in(5 * time.Hour),
		},
		"a slot of the current second is due": {
			schedule: every("6h"), claim: claim("data").created(ago(12 * time.Hour)), snapshots: series{ready(6 * time.Hour)},
			wantCreate: noon, wantNext: in(6 * time.Hour),
		},
		"of many missed slots only the newest is taken": {
			schedule: every("6h"), snapshots: series{ready(9 * day)}, wantCreate: ago(time.Hour),
		},
		"a snapshot for a newer slot covers older ones": {schedule: every("6h"), snapshots: series{ready(10 * time.Minute)}},
		"a snapshot that was created late covers its slot": {
			schedule: every("6h"), snapshots: series{ready(time.Hour).created(ago(time.Minute))},
		},
		"a failed snapshot covers its slot as well": {
			schedule: every("6h"), snapshots: series{erring(time.Hour)},
			wantProblem: v1alpha1.ReasonSnapshotError + " " + v1alpha1.ReasonSnapshotFailed,
		},
		"suspended: takes none": {schedule: every("6h").suspended(), wantNext: never},
	})
}

// Contract: SLOT-2.
func TestMapCron(t *testing.T) {
	runMap(t, map[string]mapCase{
		"takes the newest time of the expression": {
			schedule: cron("30 2 * * *", ""), wantCreate: ago(9*time.Hour + 30*time.Minute),
			wantNext: in(14*time.Hour + 30*time.Minute),
		},
		"fires in its time zone": {schedule: cron("30 2 * * *", "Europe/Oslo"), wantCreate: ago(11*time.Hour + 30*time.Minute)},
		"a new PVC waits for the next time": {
			schedule: cron("30 2 * * *", ""), claim: claim("data").created(ago(time.Hour)),
			wantNext: in(14*time.Hour + 30*time.Minute),
		},
		"macro is expanded": {schedule: cron("@daily", ""), wantCreate: ago(12 * time.Hour)},
	})
}

// Contract: API-7, SLOT-5, SLOT-6, SLOT-7, SLOT-13.
func TestMapRequested(t *testing.T) {
	covered := series{ready(time.Hour)}
	at := rfc3339(ago(time.Minute))
	runMap(t, map[string]mapCase{
		"on the schedule: taken": {schedule: every("6h").requested(at), snapshots: covered, wantCreate: ago(time.Minute)},
		"for the PVC: taken": {
			schedule: every("6h").requested(at + " other,data"), snapshots: covered, wantCreate: ago(time.Minute),
		},
		"for another PVC: ignored": {schedule: every("6h").requested(at + " other"), snapshots: covered, wantNext: in(5 * time.Hour)},
		"for another PVC, in the future: not awaited": {
			schedule: every("6h").requested(rfc3339(in(time.Minute)) + " other"), snapshots: covered, wantNext: in(5 * time.Hour),
		},
		"on the PVC: ignored": {
			schedule: every("6h"), claim: claim("data").requested(at), snapshots: covered, wantNext: in(5 * time.Hour),
		},
		"on the PVC, in the future: not awaited": {
			schedule: every("6h"), claim: claim("data").requested(rfc3339(in(time.Minute))), snapshots: covered, wantNext: in(5 * time.Hour),
		},
		"taken already: waits for the next slot": {
			schedule: every("6h").requested(at), snapshots: series{ready(time.Hour), ready(time.Minute)},
			wantNext: in(5 * time.Hour),
		},
		"older than the current slot: ignored": {schedule: every("6h").requested(rfc3339(ago(2 * time.Hour))), snapshots: covered},
		"a future time is a future slot": {
			schedule: every("6h").requested(rfc3339(in(time.Minute))), snapshots: covered, wantNext: in(time.Minute),
		},
		"is truncated to seconds": {
			schedule:  every("6h").requested(ago(time.Minute).Add(700 * time.Millisecond).Format(time.RFC3339Nano)),
			snapshots: covered, wantCreate: ago(time.Minute),
		},
		"may be in another zone": {
			schedule:  every("6h").requested(ago(time.Minute).In(time.FixedZone("", 2*3600)).Format(time.RFC3339)),
			snapshots: covered, wantCreate: ago(time.Minute),
		},
		"taken while suspended": {schedule: every("6h").suspended().requested(at), wantCreate: ago(time.Minute), wantNext: never},
		"a future time while suspended is a future slot": {
			schedule: every("6h").suspended().requested(rfc3339(in(time.Hour))), wantNext: in(time.Hour),
		},
		"before the PVC was under the schedule: ignored": {
			schedule: every("6h").suspended().requested(rfc3339(ago(9*day + time.Hour + time.Second))),
		},
		"at the anchor: taken": {
			schedule: every("6h").suspended().requested(rfc3339(ago(9*day + time.Hour))), wantCreate: ago(9*day + time.Hour),
		},
		"older than the TTL: ignored": {schedule: every("6h").suspended().ttl("1m").requested(at)},
		"younger than the TTL: taken": {
			schedule: every("6h").suspended().ttl("61s").requested(at), wantCreate: ago(time.Minute), wantNext: in(time.Second),
		},
		"older than the startingDeadline: ignored": {schedule: every("6h").suspended().deadline("1m").requested(at)},
		"malformed on the schedule: ignored, and no problem of the PVC": {
			schedule: every("6h").requested("tomorrow"), snapshots: covered, wantNext: in(5 * time.Hour),
		},
		"malformed on the PVC: ignored": {
			schedule: every("6h"), claim: claim("data").requested("tomorrow"), snapshots: covered, wantNext: in(5 * time.Hour),
		},
	})
}

// Contract: API-6, SLOT-9.
func TestMapMissedSlots(t *testing.T) {
	runMap(t, map[string]mapCase{
		"a slot within startingDeadline is taken": {
			schedule: every("6h").deadline("2h"), wantCreate: ago(time.Hour), wantNext: in(time.Hour),
		},
		"a slot as old as startingDeadline is not, and is overdue after a whole slot": {
			schedule: every("6h").deadline("1h"), wantNext: in(5 * time.Hour), wantProblem: v1alpha1.ReasonSnapshotOverdue,
		},
		"a slot as old as the TTL is not due": {schedule: every("6h").ttl("1h").minReady(0), wantNext: in(5 * time.Hour)},
		"a TTL shorter than the interval does not take one after another": {
			schedule: every("6h").ttl("30m").minReady(0), snapshots: nil, wantNext: in(5 * time.Hour),
		},
		"a TTL shorter than the interval: the floor keeps the last one": {
			schedule: every("6h").ttl("30m"), snapshots: series{ready(time.Hour)},
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
	slot := ago(7 * time.Hour).Add(offset)
	runMap(t, map[string]mapCase{
		"shifts the slots by the same offset each time": {
			schedule: every("6h").jitter("5h"), claim: claim("c"), wantCreate: slot, wantNext: slot.Add(6 * time.Hour),
		},
		"differs between PVCs": {
			schedule: every("6h").jitter("5h"), claim: claim("other"),
			wantCreate: slotBefore(ago(9*day + time.Hour).Add(schedule.Jitter("other-uid", 5*time.Hour))),
		},
		"delays the first snapshot of a new PVC": {
			schedule: every("6h").jitter("5h"), claim: claim("c").created(noon), wantNext: noon.Add(offset),
		},
		"shifts cron times": {
			schedule: cron("0 0 * * *", "").jitter("5h"), claim: claim("c"), wantCreate: ago(12 * time.Hour).Add(offset),
		},
		"leaves requested times alone": {
			schedule: every("6h").jitter("5h").requested(rfc3339(ago(time.Second))), wantCreate: ago(time.Second),
		},
	})
}

// slotBefore returns the latest slot of 6h steps from a first one.
func slotBefore(first time.Time) time.Time {
	return first.Add(noon.Sub(first).Truncate(6 * time.Hour))
}

// A clock that was once ahead must not stop backups.
//
// Contract: SLOT-10.
func TestMapWrongScheduledAt(t *testing.T) {
	runMap(t, map[string]mapCase{
		"in the future: its creation counts": {
			schedule: every("6h"), snapshots: series{ready(7 * time.Hour).scheduledAt(rfc3339(in(365 * day)))},
			wantCreate: ago(time.Hour),
		},
		"in the future, created after the slot: covers it": {
			schedule: every("6h"), snapshots: series{ready(time.Hour).scheduledAt(rfc3339(in(365 * day)))},
		},
		"in the near future: checked again then": {
			schedule: every("6h"), snapshots: series{ready(time.Hour).scheduledAt(rfc3339(in(time.Minute)))},
			wantNext: in(time.Minute),
		},
		"of an imported one: covers it": {
			schedule: every("6h"), snapshots: series{imported(time.Minute).scheduledAt(rfc3339(ago(time.Hour)))}, wantNext: in(5 * time.Hour),
		},
		"of an imported one, missing: covers nothing": {
			schedule: every("6h"), snapshots: series{imported(time.Minute)}, wantCreate: ago(time.Hour),
		},
		"malformed: its creation counts": {
			schedule: every("6h"), snapshots: series{ready(7 * time.Hour).scheduledAt("soon")}, wantCreate: ago(time.Hour),
		},
		"missing: its creation counts": {schedule: every("6h"), snapshots: series{ready(time.Minute).unscheduled()}},
	})
}

// A rollback creates the PVC again and carries its snapshots over.
//
// Contract: SLOT-15.
func TestMapKeepsTheRhythmOfSnapshotsThatAreOlderThanThePVC(t *testing.T) {
	rolledBack := claim("data").created(ago(time.Minute))
	runMap(t, map[string]mapCase{
		"interval: nothing is due because the PVC is new": {
			schedule: every("6h"), claim: rolledBack, snapshots: series{ready(7 * time.Hour), ready(time.Hour)}, wantNext: in(5 * time.Hour),
		},
		"interval: the slot that came meanwhile is due": {
			schedule: every("6h"), claim: rolledBack, snapshots: series{ready(7 * time.Hour)}, wantCreate: ago(time.Hour), wantNext: in(5 * time.Hour),
		},
		"interval: the first new snapshot changes nothing": {
			schedule: every("6h"), claim: claim("data").created(ago(90 * time.Minute)), snapshots: series{ready(7 * time.Hour), ready(time.Hour)},
			wantNext: in(5 * time.Hour),
		},
		"interval: the offset counts in the slot already": {
			schedule: every("6h").jitter("5h"), claim: rolledBack, snapshots: series{ready(time.Hour)}, wantNext: in(5 * time.Hour),
		},
		"interval: without such a snapshot, the PVC is new": {
			schedule: every("6h"), claim: rolledBack, wantCreate: ago(time.Minute),
		},
		"cron: the time that passed meanwhile is due": {
			schedule: cron("30 2 * * *", ""), claim: rolledBack, snapshots: series{ready(33*time.Hour + 30*time.Minute)},
			wantCreate: ago(9*time.Hour + 30*time.Minute),
		},
		"cron: covered": {
			schedule: cron("30 2 * * *", ""), claim: rolledBack, snapshots: series{ready(9*time.Hour + 30*time.Minute)},
			wantNext: in(14*time.Hour + 30*time.Minute),
		},
		"a request that is older than the PVC is ignored": {
			schedule: every("6h").requested(rfc3339(ago(30 * time.Minute))), claim: rolledBack, snapshots: series{ready(time.Hour)},
			wantNext: in(5 * time.Hour),
		},
		"a request after it is a slot": {
			schedule: every("6h").requested(rfc3339(ago(30 * time.Second))), claim: rolledBack, snapshots: series{ready(time.Hour)},
			wantCreate: ago(30 * time.Second),
		},
		"an imported one without a slot has no rhythm": {
			schedule: every("6h"), claim: rolledBack, snapshots: series{imported(time.Hour)}, wantCreate: ago(time.Minute),
		},
	})
}

// Whatever slots are covered when a rollback creates the PVC again: what is due at any time after it, and until the next
// one, is what would have been due without it.
//
// Contract: SLOT-15.
func TestARollbackChangesNoSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom([]scheduleBuilder{every("6h"), every("7m"), cron("30 2 * * 1-5", "Europe/Oslo"), cron("*/20 3 * * *", "")}).Draw(t, "schedule")
		minutes := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Minute
		}
		before := claim("data").created(ago(minutes("created", 9000, 9900)))
		line := mustTimeline(t, s, before)
		var taken series
		for slot, ok := line.Next(ago(minutes("first", 4500, 9000))); ok && !slot.After(noon) && len(taken) < 30; slot, ok = line.Next(slot) {
			if len(taken) == 0 || rapid.IntRange(0, 3).Draw(t, "taken") > 0 {
				taken = append(taken, ready(noon.Sub(slot)))
			}
		}
		first := taken[0].CreationTimestamp.Time
		after := claim("data").created(first.Add(time.Minute + minutes("rolled back", 0, int(noon.Sub(first).Minutes())-1)))
		without, with := mapCase{schedule: s, claim: before, snapshots: taken}, mapCase{schedule: s, claim: after, snapshots: taken}
		want, got := without.decider(t)(without.observe()), with.decider(t)(with.observe())
		if !slices.EqualFunc(slotsOf(got), slotsOf(want), time.Time.Equal) {
			t.Fatalf("due is %v, and was %v", slotsOf(got), slotsOf(want))
		}
		if w, g := statusOf(want).NextSlot, statusOf(got).NextSlot; !w.Equal(g) {
			t.Fatalf("the next slot is %v, and was %v", g, w)
		}
	})
}

func mustTimeline(t *rapid.T, s scheduleBuilder, c claimBuilder) schedule.Timeline {
	spec, err := compile(&s.Spec)
	if err != nil {
		t.Fatal(err)
	}
	of := claimsOf(s.SnapshotSchedule, []*corev1.PersistentVolumeClaim{c.PersistentVolumeClaim}, nil, noon)
	return spec.timeline(&of)
}
