// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronLine is a cron line as sets of values. To find a firing it tests every minute.
type cronLine struct {
	minute, hour, day, month, weekday map[int]bool
	eitherDay                         bool
}

var (
	macros = map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
	}
	monthNames = map[string]int{"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
		"jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12}
	weekdayNames = map[string]int{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
)

// readCron parses a cron line. A line that never fires is an error.
func readCron(text string) (*cronLine, error) {
	if line, ok := macros[text]; ok {
		text = line
	}
	fields := strings.Fields(text)
	if len(fields) != 5 || strings.Contains(text, "TZ=") {
		return nil, fmt.Errorf("cron line %q does not have five fields", text)
	}
	var l cronLine
	var stars [5]bool
	for i, f := range []struct {
		into     *map[int]bool
		from, to int
		names    map[string]int
	}{
		{&l.minute, 0, 59, nil}, {&l.hour, 0, 23, nil}, {&l.day, 1, 31, nil},
		{&l.month, 1, 12, monthNames}, {&l.weekday, 0, 6, weekdayNames},
	} {
		var err error
		if *f.into, stars[i], err = readField(fields[i], f.from, f.to, f.names); err != nil {
			return nil, fmt.Errorf("cron line %q: %w", text, err)
		}
	}
	if len(l.minute) == 0 || len(l.hour) == 0 || len(l.month) == 0 {
		return nil, fmt.Errorf("cron line %q has an empty field", text)
	}
	l.eitherDay = !stars[2] && !stars[4]
	for day := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2008; day = day.AddDate(0, 0, 1) {
		if l.onDay(day) {
			return &l, nil
		}
	}
	return nil, fmt.Errorf("cron line %q never fires", text)
}

// readField parses a list of values, ranges and steps. star means that it restricts nothing.
func readField(text string, from, to int, names map[string]int) (set map[int]bool, star bool, err error) {
	set = map[int]bool{}
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		span, stepText, hasStep := strings.Cut(item, "/")
		step := 1
		if hasStep {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return nil, false, fmt.Errorf("invalid step %q", stepText)
			}
		}
		first, last, all, err := readSpan(span, hasStep, from, to, names)
		if err != nil {
			return nil, false, err
		}
		star = star || all && step == 1
		for v := first; v <= last; v++ {
			if (v-first)%step == 0 {
				set[v] = true
			}
		}
	}
	return set, star, nil
}

func readSpan(text string, open bool, from, to int, names map[string]int) (first, last int, all bool, err error) {
	firstText, lastText, isRange := strings.Cut(text, "-")
	if firstText == "*" || firstText == "?" {
		return from, to, true, nil
	}
	if first, err = readValue(firstText, names); err != nil {
		return 0, 0, false, err
	}
	last = first
	switch {
	case isRange:
		if last, err = readValue(lastText, names); err != nil {
			return 0, 0, false, err
		}
	case open:
		last = to
	}
	if first < from || last > to || first > last {
		return 0, 0, false, fmt.Errorf("%q is not within %d-%d", text, from, to)
	}
	return first, last, false, nil
}

func readValue(text string, names map[string]int) (int, error) {
	if v, ok := names[strings.ToLower(text)]; ok {
		return v, nil
	}
	return strconv.Atoi(text)
}

func (l *cronLine) onDay(wall time.Time) bool {
	day, weekday := l.day[wall.Day()], l.weekday[int(wall.Weekday())]
	if l.eitherDay {
		return l.month[int(wall.Month())] && (day || weekday)
	}
	return l.month[int(wall.Month())] && day && weekday
}

func (l *cronLine) fires(wall time.Time) bool {
	return l.minute[wall.Minute()] && l.hour[wall.Hour()] && l.onDay(wall)
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
