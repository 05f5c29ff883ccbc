// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"fmt"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// An edit of a schedule with 10,000 snapshots, and the 30 days after it.
func BenchmarkPreview(b *testing.B) {
	tiers := v1alpha1.Keep{Hourly: 24, Daily: 7, Weekly: 4}
	for name, test := range map[string]struct {
		every time.Duration
		spec  v1alpha1.SnapshotScheduleSpec
		edit  func(*v1alpha1.SnapshotScheduleSpec)
	}{
		"every 6h, a shorter TTL": {
			6 * time.Hour, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "6h", SnapshotTTL: "10d"},
			func(s *v1alpha1.SnapshotScheduleSpec) { s.SnapshotTTL = "5d" },
		},
		"every hour, fewer tiers": {
			time.Hour, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: tiers}},
			func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.Keep.Weekly = 0 },
		},
		"every hour, a TTL besides tiers": {
			time.Hour, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", Retention: v1alpha1.Retention{Keep: tiers}},
			func(s *v1alpha1.SnapshotScheduleSpec) { s.SnapshotTTL = "5d" },
		},
		"a cron line in a zone": {
			time.Hour, v1alpha1.SnapshotScheduleSpec{Schedule: "0 * * * *", TimeZone: "Europe/Oslo", Retention: v1alpha1.Retention{Keep: tiers}},
			func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.Keep.Weekly = 0 },
		},
		"maxCount deletes what tiers keep": {
			time.Hour, v1alpha1.SnapshotScheduleSpec{SnapshotInterval: "1h", SnapshotTTL: "10d", Retention: v1alpha1.Retention{Keep: tiers}},
			func(s *v1alpha1.SnapshotScheduleSpec) { s.Retention.MaxCount = new(int32(40)) },
		},
	} {
		b.Run(name, func(b *testing.B) {
			s := clitest.Schedule("nightly", test.spec)
			inv := &view.Inventory{Claims: map[string][]client.Object{}, Snapshots: map[string][]client.Object{}}
			now := clitest.Start.AddDate(0, 0, 60).Add(20 * time.Minute)
			for i := range 250 {
				c := clitest.Claim(fmt.Sprintf("data-%d", i), nil)
				inv.Claims["shop"] = append(inv.Claims["shop"], c)
				for k := range 40 {
					slot := now.Truncate(test.every).Add(-time.Duration(k) * test.every)
					inv.Snapshots["shop"] = append(inv.Snapshots["shop"], clitest.Snapshot(s, c, slot))
				}
			}
			edit := s.DeepCopy()
			test.edit(&edit.Spec)
			for b.Loop() {
				if _, err := PreviewOf(Variants{Present: s, Future: edit}, inv, now, now.AddDate(0, 0, 30)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
