// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"testing"
	"time"
)

func BenchmarkSlots(b *testing.B) {
	anchor := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	now := time.Date(2026, 6, 1, 12, 34, 56, 0, time.UTC)
	for name, rule := range map[string]Rule{
		"interval":      every(b, 6*time.Hour),
		"cron daily":    cronRule(b, "30 2 * * *", "Europe/Oslo"),
		"cron hourly":   cronRule(b, "@hourly", "Europe/Oslo"),
		"cron yearly":   cronRule(b, "@yearly", "Europe/Oslo"),
		"cron leap day": cronRule(b, "0 0 29 2 *", "Europe/Oslo"),
	} {
		b.Run(name, func(b *testing.B) {
			criteria := Criteria{Timeline: rule.Timeline(anchor, 5*time.Minute), Requested: now.Add(-time.Hour), TTL: 24 * time.Hour}
			b.ReportAllocs()
			for b.Loop() {
				criteria.At(now)
			}
		})
	}
}

func BenchmarkJitter(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Jitter("6f1c2a0e-9d3b-4a77-8e55-0c1d2e3f4a5b", 15*time.Minute)
	}
}

func BenchmarkParseCron(b *testing.B) {
	loc := zone(b, "Europe/Oslo")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseCron("30 2 * * mon-fri", loc); err != nil {
			b.Fatal(err)
		}
	}
}
