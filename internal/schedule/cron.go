// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronLine is a cron line on a clock without a time zone. It takes and returns
// wall times, represented as time.Time values in UTC.
type cronLine struct {
	minute, hour, day, month, weekday uint64 // a bit for each value
	// eitherDay: day of month and day of week are both restricted, and one of
	// them is enough to match. Otherwise both must match.
	eitherDay bool
	// wildcardHour: the hour field begins with *, so that the line fires for
	// every matching local time through daylight saving time. See Rule.
	wildcardHour bool
}

// macros are the words that stand for a line.
var macros = map[string]string{
	"@hourly":  "0 * * * *",
	"@daily":   "0 0 * * *",
	"@weekly":  "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly":  "0 0 1 1 *",
}

// parser is CronJob's, because a line must mean here what it means there. Its
// Next is not used: there is no way back, and it gives up after five years.
var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// star is the bit that the parser adds to the mask of an unrestricted field: one
// with a bare * (or ?, which is the same) among its items. */2 restricts.
const star = 1 << 63

// parseCronLine parses a cron line or a macro. A line that never fires is an error.
func parseCronLine(text string) (cronLine, error) {
	l, err := parse(text)
	if err != nil {
		return cronLine{}, fmt.Errorf(`schedule %q: %w; write for example "30 2 * * *" `+
			`(minute, hour, day of month, month, day of week) or @daily`, text, err)
	}
	return l, nil
}

func parse(text string) (cronLine, error) {
	// The parser accepts a time zone, and panics if nothing follows it.
	if strings.Contains(text, "TZ=") {
		return cronLine{}, errors.New("the time zone belongs in timeZone")
	}
	if macro, ok := macros[text]; ok {
		text = macro
	}
	if strings.HasPrefix(text, "@") {
		return cronLine{}, errors.New("the only words are @hourly, @daily, @weekly, @monthly and @yearly; " +
			"for an interval, set snapshotInterval: 6h instead")
	}
	parsed, err := parser.Parse(text)
	if err != nil {
		return cronLine{}, err
	}
	spec := parsed.(*cron.SpecSchedule) // the parser's result for five fields
	hour := strings.Fields(text)[1]
	l := cronLine{
		minute: spec.Minute &^ star, hour: spec.Hour &^ star,
		day: spec.Dom &^ star, month: spec.Month &^ star, weekday: spec.Dow &^ star,
		eitherDay:    (spec.Dom|spec.Dow)&star == 0,
		wildcardHour: hour[0] == '*' || hour[0] == '?',
	}
	// 2000 is a leap year, so that 29 February is found at once.
	if _, ok := l.next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); !ok {
		return cronLine{}, errors.New("there is no such day, so it never fires")
	}
	return l, nil
}

// horizon is how many years next and last search. The longest time between two
// firings is from 29 February 2096 to 29 February 2104.
const horizon = 8

// next returns the first wall time after w at which the line fires, or false if
// there is none within the horizon.
func (l *cronLine) next(w time.Time) (time.Time, bool) {
	w = w.Truncate(time.Minute).Add(time.Minute)
	for limit := w.Year() + horizon; w.Year() <= limit; {
		year, month, day := w.Date()
		hours, minutes := l.hour>>w.Hour(), l.minute>>w.Minute()
		switch {
		case l.month>>month&1 == 0:
			w = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
		case !l.onDay(w) || hours == 0:
			w = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
		case hours&1 == 0:
			w = w.Truncate(time.Hour).Add(time.Duration(bits.TrailingZeros64(hours)) * time.Hour)
		case minutes == 0:
			w = w.Truncate(time.Hour).Add(time.Hour)
		default:
			return w.Add(time.Duration(bits.TrailingZeros64(minutes)) * time.Minute), true
		}
	}
	return time.Time{}, false
}

// last returns the last wall time at or before w at which the line fires, or
// false if there is none within the horizon.
func (l *cronLine) last(w time.Time) (time.Time, bool) {
	w = w.Truncate(time.Minute)
	for limit := w.Year() - horizon; w.Year() >= limit; {
		year, month, day := w.Date()
		// The masks, shifted so that the highest bit is the current value.
		hours, minutes := l.hour<<(63-w.Hour()), l.minute<<(63-w.Minute())
		switch {
		case l.month>>month&1 == 0:
			w = time.Date(year, month, 1, 0, -1, 0, 0, time.UTC)
		case !l.onDay(w) || hours == 0:
			w = time.Date(year, month, day, 0, -1, 0, 0, time.UTC)
		case hours>>63 == 0:
			w = time.Date(year, month, day, w.Hour()-bits.LeadingZeros64(hours), 59, 0, 0, time.UTC)
		case minutes == 0:
			w = w.Truncate(time.Hour).Add(-time.Minute)
		default:
			return w.Add(-time.Duration(bits.LeadingZeros64(minutes)) * time.Minute), true
		}
	}
	return time.Time{}, false
}

// onDay reports whether the line fires on the day of w, in a month that matches.
func (l *cronLine) onDay(w time.Time) bool {
	day := l.day>>w.Day()&1 == 1
	weekday := l.weekday>>w.Weekday()&1 == 1
	if l.eitherDay {
		return day || weekday
	}
	return day && weekday
}
