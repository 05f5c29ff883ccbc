// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

const day = 24 * time.Hour

func noon(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 12, 0, 0, 0, time.UTC)
}

// zoneChange is a day on which a zone's clock changes, and a local time that does
// not exist on that day, or occurs twice.
type zoneChange struct {
	zone, season string
	at           time.Time
	hour, minute int
}

// zoneChanges covers Europe and North America, a change of half an hour, a change at
// midnight in the southern hemisphere, and a change for Ramadan.
func zoneChanges() []zoneChange {
	return []zoneChange{
		{"Europe/Oslo", "forward", noon(2026, 3, 29), 2, 30},
		{"Europe/Oslo", "back", noon(2026, 10, 25), 2, 30},
		{"America/New_York", "forward", noon(2026, 3, 8), 2, 30},
		{"America/New_York", "back", noon(2026, 11, 1), 1, 30},
		{"Australia/Lord_Howe", "forward", noon(2026, 10, 4), 2, 15},
		{"Australia/Lord_Howe", "back", noon(2026, 4, 5), 1, 45},
		{"America/Santiago", "forward", noon(2026, 9, 6), 0, 30},
		{"America/Santiago", "back", noon(2026, 4, 5), 23, 30},
		{"Africa/Casablanca", "forward", noon(2026, 3, 22), 2, 30},
		{"Africa/Casablanca", "back", noon(2026, 2, 15), 2, 30},
	}
}

// ClockPlans returns every plan: daylight saving time, leap days, clocks that jump, and clocks that are a little off.
func ClockPlans() []ClockPlan {
	var plans []ClockPlan
	for _, c := range zoneChanges() {
		plans = append(plans, c.plans()...)
	}
	plans = append(plans, leapPlans()...)
	for _, by := range []struct {
		name string
		d    time.Duration
	}{
		{"+1h", time.Hour}, {"-1h", -time.Hour}, {"+1d", day}, {"-1d", -day}, {"+10y", 3652 * day}, {"-10y", -3652 * day},
		{"1970", time.Unix(0, 0).Sub(jumpStart)}, {"+50s", 50 * time.Second}, {"-50s", -50 * time.Second},
	} {
		plans = append(plans, jump("operator", by.name, by.d, 0), jump("date", by.name, 0, by.d))
	}
	for _, ahead := range []time.Duration{50 * time.Millisecond, -50 * time.Millisecond, time.Second, -time.Second} {
		plans = append(plans,
			boundary("daily", "0 0 * * *", day, v1alpha1.Keep{Daily: 5}, ahead),
			boundary("hourly", "0 * * * *", time.Hour, v1alpha1.Keep{Hourly: 5}, ahead))
	}
	return plans
}

// boundary returns a plan in which every second slot, at the boundary of two periods of a tier, is taken by a clock that is a little off,
// so that the API server may stamp the snapshot with the period before.
func boundary(name, line string, every time.Duration, keep v1alpha1.Keep, ahead time.Duration) ClockPlan {
	spec := baseSpec()
	spec.Schedule, spec.SnapshotTTL, spec.Retention.Keep = v1alpha1.CronLine(line), "", keep
	from := jumpStart.Truncate(day).Add(every / 2)
	plan := ClockPlan{
		ID:   fmt.Sprintf("clocks:boundary:%s:%+dms", name, ahead.Milliseconds()),
		from: from, until: from.Add(12 * every), spec: spec,
		slots: func(anchor, until time.Time) []slot {
			var all []slot
			for t := anchor.Truncate(every).Add(every); !t.After(until); t = t.Add(every) {
				all = append(all, slot{t})
			}
			return all
		},
	}
	for i := range 10 {
		plan.changes = append(plan.changes, clockChange{at: from.Add(time.Duration(i+1) * every), operator: ahead * time.Duration((i+1)%2)})
	}
	return plan
}

// plans covers five days around a change, with a cron line that falls into it, and
// lines that fire throughout.
func (c zoneChange) plans() []ClockPlan {
	zone, err := time.LoadLocation(c.zone)
	if err != nil {
		panic(err) // the names are constants of this file
	}
	var plans []ClockPlan
	for name, line := range map[string]string{
		"fixed": fmt.Sprintf("%d %d * * *", c.minute, c.hour), "hourly": "0 * * * *", "half-hourly": "*/30 * * * *", "six-hourly": "15 */6 * * *",
	} {
		spec := baseSpec()
		spec.Schedule, spec.TimeZone = v1alpha1.CronLine(line), c.zone
		slots := func(anchor, until time.Time) []slot { return everyTime(line, zone, anchor, until) }
		if name == "fixed" {
			slots = func(anchor, until time.Time) []slot { return daily(c.hour, c.minute, zone, anchor, until) }
		}
		plans = append(plans, ClockPlan{
			ID:   fmt.Sprintf("clocks:%s:%s:%s", c.zone, c.season, name),
			from: c.at.Add(-5 * day / 2), until: c.at.Add(5 * day / 2), spec: spec, slots: slots,
		})
	}
	return plans
}

// daily returns one slot for every local day, at the line's time. On a day without
// that time, the slot is due within the hour after the gap.
func daily(hour, minute int, zone *time.Location, anchor, until time.Time) []slot {
	byDay := map[string]slot{}
	var days []string
	for t := anchor.Truncate(time.Minute).Add(time.Minute); !t.After(until); t = t.Add(time.Minute) {
		local := t.In(zone)
		name := local.Format(time.DateOnly)
		if _, ok := byDay[name]; !ok {
			byDay[name] = nil
			days = append(days, name)
		}
		if local.Hour() == hour && local.Minute() == minute {
			byDay[name] = append(byDay[name], t)
		}
	}
	var all []slot
	for i, name := range days {
		o := byDay[name]
		if len(o) == 0 {
			o = afterGap(name, zone)
		}
		if len(o) == 0 && i > 0 && i < len(days)-1 {
			panic("no time on " + name + " in " + zone.String())
		}
		if len(o) > 0 && o[0].After(anchor) && !o[len(o)-1].After(until) {
			all = append(all, o)
		}
	}
	return all
}

// afterGap returns the hour after the clock is set forward on a day.
func afterGap(date string, zone *time.Location) slot {
	midnight, err := time.ParseInLocation(time.DateOnly, date, zone)
	if err != nil {
		panic(err) // the caller formatted it
	}
	for t := midnight.Add(-3 * time.Hour); t.Before(midnight.Add(day)); t = t.Add(time.Minute) {
		_, is := t.Zone()
		_, was := t.Add(-time.Minute).Zone()
		if is <= was || t.Format(time.DateOnly) != date {
			continue
		}
		var hour slot
		for m := range 60 {
			hour = append(hour, t.Add(time.Duration(m)*time.Minute))
		}
		return hour
	}
	return nil
}

// everyTime returns a slot whenever the zone's clock shows a time of the line.
func everyTime(line string, zone *time.Location, anchor, until time.Time) []slot {
	fires := map[string]func(h, m int) bool{
		"0 * * * *":    func(_, m int) bool { return m == 0 },
		"*/30 * * * *": func(_, m int) bool { return m%30 == 0 },
		"15 */6 * * *": func(h, m int) bool { return h%6 == 0 && m == 15 },
	}[line]
	var all []slot
	for t := anchor.Truncate(time.Minute).Add(time.Minute); !t.After(until); t = t.Add(time.Minute) {
		if local := t.In(zone); fires(local.Hour(), local.Minute()) {
			all = append(all, slot{t})
		}
	}
	return all
}

// leapPlans covers 29 February, and 31 December of a leap year, for which Go's
// ZoneBounds is wrong.
func leapPlans() []ClockPlan {
	at := func(year int, month time.Month, d int) time.Time { return noon(year, month, d).Add(-6 * time.Hour) }
	plan := func(id, line, zone string, from, until time.Time, slots ...time.Time) ClockPlan {
		spec := baseSpec()
		spec.Schedule, spec.TimeZone, spec.SnapshotTTL = v1alpha1.CronLine(line), zone, "40d"
		return ClockPlan{ID: "clocks:leap:" + id, from: from, until: until, spec: spec, slots: func(_, _ time.Time) []slot {
			var all []slot
			for _, t := range slots {
				all = append(all, slot{t})
			}
			return all
		}}
	}
	return []ClockPlan{
		plan("29-february", "0 12 29 2 *", "", at(2028, 2, 20), at(2028, 3, 10), noon(2028, 2, 29)),
		plan("29-february-again", "0 12 29 2 *", "", at(2032, 2, 27), at(2032, 3, 3), noon(2032, 2, 29)),
		plan("daily", "0 12 * * *", "", at(2028, 2, 27), at(2028, 3, 3),
			noon(2028, 2, 27), noon(2028, 2, 28), noon(2028, 2, 29), noon(2028, 3, 1), noon(2028, 3, 2)),
		plan("no-29-february", "0 12 28-29 2 *", "", at(2027, 2, 27), at(2027, 3, 3), noon(2027, 2, 28)),
		plan("centuries", "0 12 29 2 *", "", at(2100, 2, 26), at(2100, 3, 3)),
		plan("last-day-of-the-year", "0 13 31 12 *", "Europe/Oslo", at(2028, 12, 29), at(2029, 1, 3), noon(2028, 12, 31)),
		plan("last-day-far-ahead", "0 13 31 12 *", "Europe/Oslo", at(2040, 12, 29), at(2041, 1, 3), noon(2040, 12, 31)),
		plan("every-31st", "0 12 31 * *", "", at(2028, 2, 20), at(2028, 4, 3), noon(2028, 3, 31)),
	}
}

var jumpStart = time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)

// jump returns a plan in which a clock is wrong for seven hours, after a day, under an
// hourly schedule.
func jump(which, name string, operator, date time.Duration) ClockPlan {
	spec := baseSpec()
	spec.SnapshotInterval, spec.Retention.Keep = "1h", v1alpha1.Keep{}
	off, back := jumpStart.Add(day+13*time.Minute), jumpStart.Add(day+7*time.Hour+29*time.Minute)
	// An operator that is far behind sees nothing expire, so it has nothing to pause.
	pauses := (operator-date).Abs() > time.Minute && operator > -6*time.Hour
	return ClockPlan{
		ID:   "clocks:jump:" + which + ":" + name,
		from: jumpStart, until: back.Add(30 * time.Hour), spec: spec, pauses: pauses,
		changes: []clockChange{{off, operator, date}, {back, 0, 0}},
		slots: func(anchor, until time.Time) []slot {
			var all []slot
			for t := anchor; !t.After(until); t = t.Add(time.Hour) {
				// While its own clock is wrong, an operator cannot know the hour.
				if operator == 0 || t.Before(off) || t.After(back) {
					all = append(all, slot{t})
				}
			}
			return all
		},
	}
}
