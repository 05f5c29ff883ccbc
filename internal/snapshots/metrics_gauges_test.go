// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// gaugesOf are all gauges of a schedule after its status was worked out.
func gaugesOf(t *testing.T, s aSchedule, known situation) map[string]float64 {
	t.Helper()
	key := client.ObjectKeyFromObject(s)
	setStatus(noon, s.SnapshotSchedule, known)
	p, _ := newPolicies().of(s.SnapshotSchedule)
	gauges.set(key, figuresOf(noon, s.SnapshotSchedule, known, p))
	t.Cleanup(func() { gauges.forget(key) })
	return seriesOf(t, key)
}

// Contract: MET-1.
func TestGauges(t *testing.T) {
	now := float64(noon.Unix())
	// known has 3 snapshots of each PVC and 2 that are detached among them.
	usual := func(changes map[string]float64) map[string]float64 {
		all := map[string]float64{
			"ready Scheduled": 1, "suspended": 0, "retention_paused": 0, "interval_seconds": 21600,
			"persistentvolumeclaims": 2, "failing_persistentvolumeclaims": 0, "skipped_persistentvolumeclaims": 0,
			"snapshots ready": 4, "snapshots pending": 0, "snapshots failed": 0, "snapshots detached": 2, "problems": 0,
		}
		maps.Copy(all, changes)
		maps.DeleteFunc(all, func(_ string, v float64) bool { return v < 0 })
		return all
	}
	const absent = -1
	failing := problemNote("data", v1alpha1.ReasonCreateFailed, "exceeded quota")
	malformed := every("6h").requested("tomorrow")
	detachedOnly := known(0)
	detachedOnly.Totals.Outputs[snapshotsResource] = map[string]int{"total": 2, "ready": 2}
	tests := map[string]struct {
		schedule aSchedule
		known    situation
		want     map[string]float64
	}{
		"scheduled": {
			every("6h"), known(2, Note{OldestData: ago(time.Hour), RecoveryPoint: ago(day), NextSlot: in(time.Hour)}),
			usual(map[string]float64{
				"oldest_recovery_point_timestamp_seconds": now - 3600,
				"next_slot_timestamp_seconds":             now + 3600,
			}),
		},
		"the worst of all PVCs": {
			every("6h"), known(2,
				Note{OldestData: ago(time.Hour), NextSlot: in(2 * time.Hour), Pending: 1},
				Note{OldestData: ago(2 * time.Hour), NextSlot: in(time.Hour), Pending: 1, Failed: 1}),
			usual(map[string]float64{
				"oldest_recovery_point_timestamp_seconds": now - 7200,
				"next_slot_timestamp_seconds":             now + 3600,
				"snapshots ready":                         1, "snapshots pending": 2, "snapshots failed": 1,
			}),
		},
		"suspended: no next slot": {
			every("6h").suspended(), known(2, Note{NextSlot: in(time.Hour)}),
			usual(map[string]float64{"ready Scheduled": absent, "ready Suspended": 1, "suspended": 1}),
		},
		"paused":  {every("6h"), known(2, Note{Paused: true}), usual(map[string]float64{"retention_paused": 1})},
		"skipped": {every("6h"), known(2, skippedNote("data", "not Bound")), usual(map[string]float64{"skipped_persistentvolumeclaims": 1})},
		"failing": {
			every("6h"), known(2, failing, problemNote("logs", v1alpha1.ReasonSnapshotSlow, "slow")),
			usual(map[string]float64{
				"ready Scheduled": absent, "ready SnapshotsFailing": 0, "failing_persistentvolumeclaims": 1, "problems": 2,
			}),
		},
		"more problems than status lists": {
			every("6h"), known(2, Note{Problems: failing.Problems, MoreProblems: 7, Failing: 1}),
			usual(map[string]float64{
				"ready Scheduled": absent, "ready SnapshotsFailing": 0, "failing_persistentvolumeclaims": 1, "problems": 8,
			}),
		},
		"a problem of the schedule itself": {malformed, known(2), usual(map[string]float64{"problems": 1})},
		"no PVC": {
			every("6h"), detachedOnly,
			usual(map[string]float64{
				"ready Scheduled": absent, "ready NoMatchingClaims": 1, "persistentvolumeclaims": 0, "snapshots ready": 0,
			}),
		},
		"cron": {cron("30 2 * * *", ""), known(2), usual(map[string]float64{"interval_seconds": 86400})},
		"invalid: nothing is known": {
			every("1h").jitter("2h"), situation{Settled: true, Invalid: errors.New("spec.jitter: too long")},
			map[string]float64{"ready InvalidSpec": 0},
		},
		"kind missing: nothing is known": {
			every("6h"), situation{Settled: true, Missing: []string{"x"}}, map[string]float64{"ready SnapshotAPIMissing": 0},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := gaugesOf(t, tc.schedule, tc.known); !maps.Equal(got, tc.want) {
				t.Errorf("got  %v\nwant %v", got, tc.want)
			}
		})
	}
}

// What was known is not told any more once it is not.
//
// Contract: MET-2.
func TestGaugesAreNeverStale(t *testing.T) {
	s := every("6h")
	gaugesOf(t, s, known(2, Note{OldestData: ago(time.Hour), NextSlot: in(time.Hour)}))
	got := gaugesOf(t, s, situation{Settled: true, Invalid: errors.New("bad")})
	if want := map[string]float64{"ready InvalidSpec": 0}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Status is worked out often, and mostly says what it said before.
func TestMeasuringAgainAllocatesNothing(t *testing.T) {
	for name, s := range map[string]aSchedule{"interval": every("6h"), "cron": cron("30 2 * * 1-5", "Europe/Oslo")} {
		t.Run(name, func(t *testing.T) {
			s.Name = "again"
			defer forgetMetrics(client.ObjectKeyFromObject(s))
			situation := known(2, Note{OldestData: ago(time.Hour), NextSlot: in(time.Hour)})
			setStatus(noon, s.SnapshotSchedule, situation)
			p, err := newPolicy(&s.Spec)
			must(t, err)
			if n := testing.AllocsPerRun(100, func() { measure(noon, s.SnapshotSchedule, situation, p) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func TestIntervalOf(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04", text)
		must(t, err)
		return parsed
	}
	const workdays = "30 2 * * 1-5"
	for name, tc := range map[string]struct {
		schedule aSchedule
		now      time.Time
		want     time.Duration
	}{
		"interval":                           {every("6h"), noon, 6 * time.Hour},
		"daily":                              {cron("30 2 * * *", ""), noon, day},
		"workdays, on Tuesday night":         {cron(workdays, ""), at("2026-06-16 02:29"), 3 * day},
		"workdays, on Tuesday morning":       {cron(workdays, ""), at("2026-06-16 02:30"), day},
		"workdays, on Friday":                {cron(workdays, ""), at("2026-06-19 12:00"), 3 * day},
		"workdays, on Sunday":                {cron(workdays, ""), at("2026-06-21 12:00"), 3 * day},
		"workdays, on Monday":                {cron(workdays, ""), at("2026-06-22 12:00"), 3 * day},
		"the day when clocks change":         {cron("30 12 * * *", "Europe/Oslo"), at("2026-03-29 00:00"), day},
		"a leap day":                         {cron("0 0 29 2 *", ""), noon, 4*365*day + day},
		"hours of the day, and a long night": {cron("0 8-18 * * *", ""), at("2026-06-16 20:00"), 14 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newPolicy(&tc.schedule.Spec)
			must(t, err)
			if got := intervalOf(p.rule, tc.now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// Contract: MET-1.
func TestMapCountsSnapshotsByState(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshots             []aSnapshot
		wantPending, wantFail int
	}{
		"none":                         {nil, 0, 0},
		"ready":                        {[]aSnapshot{ready(time.Hour)}, 0, 0},
		"under way":                    {[]aSnapshot{uncut(time.Minute), uploading(2 * day)}, 2, 0},
		"in error, and may come right": {[]aSnapshot{erring(time.Minute)}, 1, 0},
		"failed":                       {[]aSnapshot{uncut(2 * time.Hour), erring(2 * time.Hour)}, 0, 2},
		"being deleted":                {[]aSnapshot{ready(time.Hour).deleting(), uncut(2 * time.Hour).deleting()}, 1, 0},
		"all":                          {[]aSnapshot{ready(5 * time.Hour), uncut(2 * time.Hour), erring(3 * time.Hour), uncut(time.Minute)}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := mapCase{schedule: every("6h"), snapshots: tc.snapshots}
			note := c.mapper().Map(c.request()).Note
			if note.Pending != tc.wantPending || note.Failed != tc.wantFail {
				t.Errorf("%d pending and %d failed, want %d and %d", note.Pending, note.Failed, tc.wantPending, tc.wantFail)
			}
			// Those of a PVC that is gone are detached, and nothing else.
			r := c.request()
			r.Input = nil
			if note := c.mapper().Tombstone(r).Note; note.Pending != 0 || note.Failed != 0 || !note.OldestData.IsZero() {
				t.Errorf("of a PVC that is gone: %+v", note)
			}
		})
	}
}

// A PVC that was never bound has no data that could be lost.
//
// Contract: MET-5.
func TestMapOldestData(t *testing.T) {
	anchor := claim("data").CreationTimestamp.Time
	going := mapCase{schedule: every("6h"), claim: claim("data").deleting(), snapshots: []aSnapshot{ready(2 * time.Hour)}}
	if got := going.mapper().Map(going.request()).Note.OldestData; !got.IsZero() {
		t.Errorf("of a PVC that is being deleted: %v", got)
	}
	for name, tc := range map[string]struct {
		phase     corev1.PersistentVolumeClaimPhase
		snapshots []aSnapshot
		want      time.Time
	}{
		"bound":                {corev1.ClaimBound, []aSnapshot{ready(2 * time.Hour), ready(3 * time.Hour)}, ago(2 * time.Hour)},
		"bound, none is ready": {corev1.ClaimBound, []aSnapshot{uncut(time.Minute)}, anchor},
		"lost":                 {corev1.ClaimLost, []aSnapshot{ready(2 * time.Hour)}, ago(2 * time.Hour)},
		"pending":              {corev1.ClaimPending, nil, time.Time{}},
		"new":                  {"", nil, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			c := mapCase{schedule: every("6h"), claim: claim("data").phase(tc.phase), snapshots: tc.snapshots}
			if got := c.mapper().Map(c.request()).Note.OldestData; !got.Equal(tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
