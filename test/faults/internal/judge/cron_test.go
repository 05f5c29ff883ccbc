// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// The product and the oracle find the same firings, except near changes of the zone's clock, where the oracle allows more.
func TestCronAgreesWithTheProduct(t *testing.T) {
	lines := []string{
		"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "30 2 * * *", "30 1 * * *", "*/15 * * * *", "0 */6 * * *",
		"15,45 9-17/2 * * MON-FRI", "0 0 29 2 *", "0 0 13 * FRI", "59 23 31 12 ?", "5-10 3 1-7 */2 *", "0 0 */2 * 1", "7/20 4 * jan-mar,DEC *",
		"0 0 ? * ?", "00 02 01 01 00", "*/05 * * * *", "+5 2 * * *", ",0,,30, 2 * * *", "*-5 ?-x/+2 * * *", "0 */99 * * *",
		"*/9223372036854775807 2 1/9223372036854775807 * *", "0 0 , * FRI", "0 0 1 * ,,",
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
			t.Fatalf("%s in %s before %s: the product fires at %s, the oracle at %s (%t)", text, name, now, want, got, found)
		}
		if found && !got.Equal(want) && !nearChange(got, zone) {
			t.Fatalf("%s in %s before %s: the oracle fires at %s, the product at %s (%t)", text, name, now, got, want, ok)
		}
	})
}

// nearChange returns whether the zone's clock changed within two hours of a time.
func nearChange(at time.Time, zone *time.Location) bool {
	_, before := at.Add(-2 * time.Hour).In(zone).Zone()
	_, after := at.Add(2 * time.Hour).In(zone).Zone()
	return before != after
}

func TestCronRefuses(t *testing.T) {
	for _, text := range []string{
		"", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "5-1 * * * *",
		"*/0 * * * *", "x * * * *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "TZ=UTC 0 0 * * *", "@every 1h", ", * * * *",
		"30-10 * * * *", "0 0 * * FRI-MON", "0 0 , * *", "*/9223372036854775808 2 * * *",
	} {
		if _, err := readCron(text); err == nil {
			t.Errorf("readCron accepts %q", text)
		}
		if _, err := schedule.ParseCron(text, time.UTC); err == nil {
			t.Errorf("the product accepts %q", text)
		}
	}
}
