// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// gaugesOf returns all gauges of a schedule after its status was computed.
func gaugesOf(t *testing.T, s scheduleBuilder, known mapcontroller.Summary) map[string]float64 {
	t.Helper()
	key := client.ObjectKeyFromObject(s)
	t.Cleanup(func() { testMetrics.Forget(key) })
	if known.Invalid == nil {
		known.Spec = specOf(s)
	}
	sum := setStatus(noon, s.SnapshotSchedule, known)
	testMetrics.Measure(key, figuresOf(noon, s.SnapshotSchedule, known, sum))
	found := seriesOf(t, key)
	maps.DeleteFunc(found, func(name string, _ float64) bool { // counters and histograms start with the figures
		return strings.Contains(name, "_total") || strings.Contains(name, "_to_")
	})
	return found
}

// specOf returns a compiled spec, as the engine passes it on.
func specOf(s scheduleBuilder) *program {
	p, err := newProgram(s.SnapshotSchedule, origin{}, true)
	if err != nil {
		panic(err)
	}
	return p
}

// Contract: MET-1.
func TestGauges(t *testing.T) {
	now := float64(noon.Unix())
	// known has 3 snapshots of each PVC. 2 of them are detached.
	usual := func(changes map[string]float64) map[string]float64 {
		all := map[string]float64{
			"ready Scheduled": 1, "suspended": 0, "retention_paused": 0, "interval_seconds": 21600,
			"persistentvolumeclaims": 2, "failing_persistentvolumeclaims": 0, "skipped_persistentvolumeclaims": 0,
			"snapshots ready": 4, "snapshots pending": 0, "snapshots failed": 0, "snapshots detached": 2, "problems": 0,
			"snapshots terminating": 0, "stuck_deletions": 0,
		}
		maps.Copy(all, changes)
		maps.DeleteFunc(all, func(_ string, v float64) bool { return v < 0 })
		return all
	}
	const absent = -1
	failing := withProblem("data", v1alpha1.ReasonCreateFailed, "exceeded quota")
	malformed := every("6h").requested("tomorrow")
	detachedOnly := known(0)
	detachedOnly.Totals[snapshotsTotal], detachedOnly.Totals[snapshotsReady] = 2, 2
	tests := map[string]struct {
		schedule scheduleBuilder
		known    mapcontroller.Summary
		want     map[string]float64
	}{
		"scheduled": {
			every("6h"), known(2,
				&keyStatus{RecoveryPoint: ago(time.Hour), NextSlot: in(time.Hour)}, &keyStatus{}),
			usual(map[string]float64{
				"oldest_recovery_point_timestamp_seconds": now - 3600,
				"next_slot_timestamp_seconds":             now + 3600,
			}),
		},
		"the worst of all PVCs": {
			every("6h"), known(2,
				&keyStatus{RecoveryPoint: ago(time.Hour), NextSlot: in(2 * time.Hour), Pending: 1, verified: new(ago(day))},
				&keyStatus{RecoveryPoint: ago(2 * time.Hour), NextSlot: in(time.Hour), Pending: 1, Failed: 1}),
			usual(map[string]float64{
				"oldest_recovery_point_timestamp_seconds": now - 7200,
				"oldest_verified_timestamp_seconds":       now - 86400,
				"next_slot_timestamp_seconds":             now + 3600,
				"snapshots ready":                         1, "snapshots pending": 2, "snapshots failed": 1,
			}),
		},
		"suspended: without a next slot": {
			every("6h").suspended(), known(2, &keyStatus{NextSlot: in(time.Hour)}),
			usual(map[string]float64{"ready Scheduled": absent, "ready Suspended": 1, "suspended": 1}),
		},
		"of a fleet": {
			every("6h").suspended().labeled(v1alpha1.LabelClusterSchedule, "gold"), known(2),
			usual(map[string]float64{"ready Scheduled": absent, "ready Suspended": 1, "suspended": absent, "suspended gold": 1}),
		},
		"paused":  {every("6h"), known(2, &keyStatus{Paused: true}), usual(map[string]float64{"retention_paused": 1})},
		"skipped": {every("6h"), known(2, &keyStatus{Claim: "data", SkipReason: "not Bound"}), usual(map[string]float64{"skipped_persistentvolumeclaims": 1})},
		"failing": {
			every("6h"), known(2, failing, withProblem("logs", v1alpha1.ReasonSnapshotSlow, "slow")),
			usual(map[string]float64{
				"ready Scheduled": absent, "ready SnapshotsFailing": 0, "failing_persistentvolumeclaims": 1, "problems": 2,
			}),
		},
		"more problems than status lists": {
			every("6h"), known(2, &keyStatus{Problems: slices.Repeat(failing.Problems, 12)}),
			usual(map[string]float64{
				"ready Scheduled": absent, "ready SnapshotsFailing": 0, "failing_persistentvolumeclaims": 1, "problems": 12,
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
		"invalid: only the condition is known": {
			every("1h").jitter("2h"), invalid("spec.jitter: too long"), map[string]float64{"ready InvalidSpec": 0},
		},
		"kind missing: only the condition is known": {every("6h"), missing("x"), map[string]float64{"ready SnapshotAPIMissing": 0}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := gaugesOf(t, tc.schedule, tc.known); !maps.Equal(got, tc.want) {
				t.Errorf("got  %v\nwant %v", got, tc.want)
			}
		})
	}
}

// Contract: MET-2.
func TestGaugesAreAbsentOnceUnknown(t *testing.T) {
	s := every("6h")
	gaugesOf(t, s, known(2, &keyStatus{RecoveryPoint: ago(time.Hour), NextSlot: in(time.Hour)}))
	got := gaugesOf(t, s, invalid("bad"))
	if want := map[string]float64{"ready InvalidSpec": 0}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Status is computed often, and mostly does not change.
func TestMeasureAllocatesNothingForAKnownSchedule(t *testing.T) {
	for name, s := range map[string]scheduleBuilder{"interval": every("6h"), "cron": cron("30 2 * * 1-5", "Europe/Oslo")} {
		t.Run(name, func(t *testing.T) {
			s.Name = "again"
			defer testMetrics.Forget(client.ObjectKeyFromObject(s))
			summary := known(2, &keyStatus{RecoveryPoint: ago(time.Hour), NextSlot: in(time.Hour)})
			summary.Spec = specOf(s)
			sum := setStatus(noon, s.SnapshotSchedule, summary)
			if n := testing.AllocsPerRun(100, func() { measure(noon, s.SnapshotSchedule, summary, sum) }); n > 0 {
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
		schedule scheduleBuilder
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
			p, err := compile(&tc.schedule.Spec)
			must(t, err)
			if got := intervalOf(p.rule, tc.now); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
