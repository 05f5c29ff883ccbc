// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// The product and the judge find the same firings, except near changes of the zone's clock, where the judge allows more.
func TestCronAgreesWithTheProduct(t *testing.T) {
	lines := []string{
		"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "30 2 * * *", "30 1 * * *", "*/15 * * * *",
		"15,45 9-17/2 * * MON-FRI", "0 0 29 2 *", "0 0 13 * FRI", "59 23 31 12 ?", "5-10 3 1-7 */2 *", "0 0 */2 * 1", "0 0 , * FRI",
	}
	zones := []string{"UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu"}
	rapid.Check(t, func(t *rapid.T) {
		text, name := rapid.SampledFrom(lines).Draw(t, "line"), rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		line, err := readCron(text)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := schedule.ParseCron(text, zone)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(rapid.Int64Range(1_767_225_600, 1_830_000_000).Draw(t, "now"), 0).UTC()
		from := now.Add(-40 * day)
		want, ok := rule.Timeline(from, 0).Latest(now)
		got, found := line.lastFiring(now, from, zone)
		if ok && (!found || got.Before(want)) {
			t.Fatalf("%s in %s before %s: the product fires at %s, the judge at %s (%t)", text, name, now, want, got, found)
		}
		_, before := got.Add(-2 * time.Hour).In(zone).Zone()
		_, after := got.Add(2 * time.Hour).In(zone).Zone()
		if found && !got.Equal(want) && before == after {
			t.Fatalf("%s in %s before %s: the judge fires at %s, the product at %s (%t)", text, name, now, got, want, ok)
		}
	})
}

func TestCronRefuses(t *testing.T) {
	for _, text := range []string{
		"", "* * * * * *", "60 * * * *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "TZ=UTC 0 0 * * *", "TZ=", "@every 1h", "30-10 * * * *", "0 0 , * *",
	} {
		if _, err := readCron(text); err == nil {
			t.Errorf("readCron accepts %q", text)
		}
		if _, err := schedule.ParseCron(text, time.UTC); err == nil {
			t.Errorf("the product accepts %q", text)
		}
	}
}
