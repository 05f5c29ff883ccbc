// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronLine is a cron line as CronJob's parser reads it: a bit for each value. To find a firing it tests every minute.
type cronLine cron.SpecSchedule

// unrestricted is the bit that the parser adds to a field with a * among its items.
const unrestricted = 1 << 63

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
}

// readCron parses a cron line. A line that never fires is an error.
func readCron(text string) (*cronLine, error) {
	if line, ok := macros[text]; ok {
		text = line
	}
	if strings.ContainsAny(text, "@=") {
		return nil, fmt.Errorf("cron line %q has a time zone or an unknown macro", text)
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("cron line %q: %w", text, err)
	}
	line := parsed.(*cron.SpecSchedule) // all but macros are
	if line.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("cron line %q never fires", text)
	}
	return (*cronLine)(line), nil
}

// fires returns whether the line fires at a time of the clock on the wall.
func (l *cronLine) fires(wall time.Time) bool {
	has := func(field uint64, value int) bool { return field>>value&1 == 1 }
	day, weekday := has(l.Dom, wall.Day()), has(l.Dow, int(wall.Weekday()))
	onDay := day && weekday
	if (l.Dom|l.Dow)&unrestricted == 0 {
		onDay = day || weekday
	}
	return onDay && has(l.Minute, wall.Minute()) && has(l.Hour, wall.Hour()) && has(l.Month, int(wall.Month()))
}

// lastFiring returns the latest minute up to now, and after limit, at which the line may fire in a zone: both occurrences of a time that
// exists twice, and the end of the gap for one that does not exist.
func (l *cronLine) lastFiring(now, limit time.Time, zone *time.Location) (time.Time, bool) {
	for t := now.Truncate(time.Minute); t.After(limit); t = t.Add(-time.Minute) {
		if l.fires(t.In(zone)) || l.firesInGapBefore(t.In(zone)) {
			return t, true
		}
	}
	return time.Time{}, false
}

func (l *cronLine) firesInGapBefore(t time.Time) bool {
	_, is := t.Zone()
	_, was := t.Add(-time.Minute).Zone()
	for wall := t.Add(time.Duration(was-is) * time.Second); wall.Before(t); wall = wall.Add(time.Minute) {
		// The wall time that the clock skipped, without a zone.
		if l.fires(time.Unix(wall.Unix()+int64(is), 0).UTC()) {
			return true
		}
	}
	return false
}
