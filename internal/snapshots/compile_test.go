// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Contract: API-4.
func TestCompileRejects(t *testing.T) {
	spec := func(change func(*v1alpha1.SnapshotScheduleSpec)) v1alpha1.SnapshotScheduleSpec {
		s := v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"}
		change(&s)
		return s
	}
	tests := map[string]struct {
		spec v1alpha1.SnapshotScheduleSpec
		want []string // parts of the message
	}{
		"neither interval nor schedule": {
			v1alpha1.SnapshotScheduleSpec{}, []string{"exactly one of snapshotInterval and schedule"},
		},
		"both": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.Schedule = "@daily" }),
			[]string{"exactly one of snapshotInterval and schedule"},
		},
		"interval": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.SnapshotInterval = "6x" }),
			[]string{"spec.snapshotInterval", `"6x"`, "6h"},
		},
		"30 February": {v1alpha1.SnapshotScheduleSpec{Schedule: "0 0 30 2 *"}, []string{"spec.schedule", "never fires"}},
		"zone in the expression": {
			v1alpha1.SnapshotScheduleSpec{Schedule: "TZ=UTC 0 0 * * *"}, []string{"spec.schedule", "timeZone"},
		},
		"unknown zone": {
			v1alpha1.SnapshotScheduleSpec{Schedule: "@daily", TimeZone: "Europe/Osloo"},
			[]string{"spec.timeZone", `"Europe/Osloo"`, "Europe/Oslo"},
		},
		"the zone of the machine": {
			v1alpha1.SnapshotScheduleSpec{Schedule: "@daily", TimeZone: "Local"}, []string{"spec.timeZone"},
		},
		"jitter as long as the interval": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.Jitter = "6h" }),
			[]string{"spec.jitter", "6h is not shorter than snapshotInterval 6h"},
		},
		"jitter":      {spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.Jitter = "0s" }), []string{"spec.jitter"}},
		"snapshotTTL": {spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.SnapshotTTL = "101y" }), []string{"spec.snapshotTTL"}},
		"startingDeadline": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.StartingDeadline = "1m1h" }), []string{"spec.startingDeadline"},
		},
		"readyDeadline": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.ReadyDeadline = "10ms" }), []string{"spec.readyDeadline"},
		},
		"detached TTL": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.Detached.SnapshotTTL = "-1d" }),
			[]string{"spec.retention.detached.snapshotTTL"},
		},
		"selector": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) {
				s.Selector.MatchExpressions = []v1alpha1.LabelSelectorRequirement{{Key: "app", Operator: "Is"}}
			}),
			[]string{"spec.selector"},
		},
		"every wrong field, in one line": {
			spec(func(s *v1alpha1.SnapshotScheduleSpec) { s.Jitter, s.SnapshotTTL = "x", "y" }),
			[]string{"spec.jitter", "; ", "spec.snapshotTTL"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := compile(&tc.spec)
			if err == nil {
				t.Fatal("the spec is valid")
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has more than one line", err)
			}
		})
	}
}

// Contract: API-2.
func TestCompileSetsDefaults(t *testing.T) {
	p, err := compile(&v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h"})
	must(t, err)
	if !p.selector.Matches(labels.Set{}) || !p.selector.Matches(labels.Set{"app": "x"}) {
		t.Error("an empty selector does not match every PVC")
	}
	want := retention.Policy{MinReady: 1, ReadyDeadline: time.Hour, Location: time.UTC, MaxClockSkew: time.Minute}
	if p.retention != want {
		t.Errorf("retention is %+v, want %+v", p.retention, want)
	}
	if p.jitter != 0 || p.startingDeadline != 0 || p.suspend || p.rule.Interval() != 6*time.Hour {
		t.Errorf("got %+v", p)
	}
}

// Contract: RET-3.
func TestCompileReadsEveryField(t *testing.T) {
	zero, hundred := int32(0), int32(100)
	p, err := compile(&v1alpha1.SnapshotScheduleSpec{
		Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "shop"}},
		Schedule:         "30 2 * * *",
		TimeZone:         "Europe/Oslo",
		SnapshotTTL:      "1d12h",
		Suspend:          true,
		StartingDeadline: "2h",
		Jitter:           "15m",
		ReadyDeadline:    "3h",
		Retention: v1alpha1.Retention{
			MinReady: &zero, MaxCount: &hundred, MinVerified: 8,
			Keep:     v1alpha1.Keep{Last: 1, Hourly: 2, Daily: 3, Weekly: 4, Monthly: 5, Yearly: 6},
			Detached: v1alpha1.DetachedRetention{SnapshotTTL: "1w", MinReady: 7},
		},
	})
	must(t, err)
	oslo, err := time.LoadLocation("Europe/Oslo")
	must(t, err)
	if p.retention.Location.String() != oslo.String() {
		t.Errorf("zone of the tiers is %v", p.retention.Location)
	}
	p.retention.Location = nil
	want := retention.Policy{
		TTL: 36 * time.Hour, MinReady: 0, MaxCount: 100, MinVerified: 8, ReadyDeadline: 3 * time.Hour,
		Keep:     retention.Tiers{1, 2, 3, 4, 5, 6},
		Detached: retention.Detached{TTL: 7 * day, MinReady: 7}, MaxClockSkew: time.Minute,
	}
	if p.retention != want {
		t.Errorf("retention is %+v, want %+v", p.retention, want)
	}
	if p.jitter != 15*time.Minute || p.startingDeadline != 2*time.Hour || !p.suspend {
		t.Errorf("got %+v", p)
	}
	if p.selector.Matches(labels.Set{"app": "other"}) || !p.selector.Matches(labels.Set{"app": "shop"}) {
		t.Errorf("selector is %v", p.selector)
	}
	if slot, ok := p.rule.Timeline(ago(day), 0).Latest(noon); !ok || !slot.Equal(ago(11*time.Hour+30*time.Minute)) {
		t.Errorf("slot is %v", slot)
	}
}

func TestCompileDoesNotLimitJitterOfCron(t *testing.T) {
	if _, err := compile(&v1alpha1.SnapshotScheduleSpec{Schedule: "* * * * *", Jitter: "2h"}); err != nil {
		t.Error(err)
	}
}

// The same snapshots under a valid spec show that this test can fail.
//
// Contract: API-5.
func TestInvalidSpecCreatesAndDeletesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		schedule scheduleBuilder
		valid    bool
	}{
		"invalid": {cron("0 0 30 2 *", "").ttl("1h"), false},
		"valid":   {every("6h").ttl("1h"), true},
	} {
		for _, gone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, PVC gone: %v", name, gone), func(t *testing.T) {
				p := newPopulation(t)
				must(t, p.schedules.Add(tc.schedule.SnapshotSchedule))
				if !gone {
					p.addClaims(t, tc.schedule, 1, 0)
				}
				p.addSnapshots(t, tc.schedule, nthClaim(0), 24, 27)
				requests := p.track()
				if len(requests) != 1 {
					t.Fatalf("enqueued %v, want one key", requests)
				}
				if !tc.valid {
					p.reconcile(t, requests[0])
				} else if _, _ = p.Reconcile(context.Background(), requests[0]); len(p.calls) == 0 {
					t.Error("under a valid spec, nothing is created or deleted")
				}
			})
		}
	}
}
