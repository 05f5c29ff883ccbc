// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// clockCase is a period under a schedule, with clocks that change: the API server's is right.
type clockCase struct {
	name        string
	from, until time.Time
	spec        v1alpha1.SnapshotScheduleSpec
	changes     []clockChange
	// slots returns those that must be taken, each at one of its times.
	slots func(anchor, until time.Time) [][]time.Time
	// pauses is set if status must report that retention is paused while the clocks are wrong.
	pauses bool
}

// clockChange sets by how much clocks are wrong.
type clockChange struct {
	at             time.Time
	operator, date time.Duration
}

// tolerance is how late a slot may be taken, or an expired snapshot deleted.
const tolerance = 30 * time.Minute

// Contract: RET-12.
func TestClocks(t *testing.T) {
	names := map[string]bool{}
	for _, c := range clockCases() {
		if names[c.name] {
			t.Errorf("two cases are named %s", c.name)
		}
		names[c.name] = true
		t.Run(c.name, func(t *testing.T) { inBubble(t, func() { c.run(t) }) })
	}
}

func (c clockCase) run(t *testing.T) {
	w := newWorld(c.from, 1, options{statusInterval: 5 * time.Second})
	defer w.end()
	w.locked(func() {
		w.bindClaim("data", w.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}).GetUID())
		w.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "every"}, Spec: c.spec})
		w.start(w.listLag)
	})
	expect := func(condition, reason string) {
		if got := meta.FindStatusCondition(w.schedule("every").Status.Conditions, condition); got == nil || got.Reason != reason {
			t.Errorf("%s: condition %s is %+v, want reason %s", time.Now(), condition, got, reason)
		}
	}
	for _, change := range c.changes {
		time.Sleep(time.Until(change.at))
		w.locked(func() {
			if c.pauses && change.operator == 0 && change.date == 0 {
				expect(v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonClockSkew)
			}
			w.setClocks(change.operator, change.date)
		})
	}
	time.Sleep(time.Until(c.until))
	w.locked(func() {
		expect(v1alpha1.ConditionReady, v1alpha1.ReasonScheduled)
		expect(v1alpha1.ConditionRetentionPaused, v1alpha1.ReasonRetentionRunning)
		if err := c.tookSlots(w.log); err != nil {
			t.Error(err)
		}
		if late := judge.Overdue(w.objects(), time.Now().Add(-tolerance)); len(late) > 0 {
			t.Errorf("not deleted at the end: %q", late)
		}
	})
	for _, f := range w.judge.Found() {
		t.Error(f)
	}
}

// tookSlots fails unless each slot was taken once and in time, and no other was. A clock that is ahead takes slots of the future; by the
// contract they have their snapshots when they fall due, unless those are deleted by then.
func (c clockCase) tookSlots(log []kube.Change) error {
	inTime, early := map[time.Time]int{}, map[time.Time]bool{}
	for _, change := range log {
		v, ok := change.After.(*snapshotv1.VolumeSnapshot)
		if !ok || change.Before != nil {
			continue
		}
		at := judge.Slot(v).UTC()
		switch since := change.At.Sub(at); {
		case since < 0 && len(c.changes) > 0:
			early[at] = true
		case since <= tolerance || len(c.changes) == 0:
			inTime[at]++
		}
	}
	for _, due := range c.slots(c.from, c.until.Add(-tolerance)) {
		n, ahead := 0, false
		for _, at := range due {
			n += inTime[at.UTC()]
			ahead = ahead || early[at.UTC()]
			delete(inTime, at.UTC())
		}
		if n > 1 || n == 0 && !ahead {
			return fmt.Errorf("the slot due at one of %v was taken %d times", due, n)
		}
	}
	for at := range inTime {
		if len(c.changes) == 0 && at.Before(c.until.Add(-tolerance)) {
			return fmt.Errorf("slot %s was taken, but does not exist", at)
		}
	}
	return nil
}

// baseSpec makes retention delete snapshots all the time.
func baseSpec() v1alpha1.SnapshotScheduleSpec {
	return v1alpha1.SnapshotScheduleSpec{
		SnapshotTTL: "10h", ReadyDeadline: "1h", DeletionPolicy: v1alpha1.DeletionDelete,
		Retention: v1alpha1.Retention{
			MinReady: new(int32(1)), Keep: v1alpha1.Keep{Hourly: 4, Daily: 3, Weekly: 1, Monthly: 2, Yearly: 1},
		},
	}
}

// zoneChange is a day on which a zone's clock changes, and a local time that does not exist on that day, or occurs twice.
type zoneChange struct {
	zone         string
	at           time.Time
	hour, minute int
}

func noon(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 12, 0, 0, 0, time.UTC)
}

// Europe and North America, a change of half an hour, one at midnight in the southern hemisphere, and one for Ramadan.
var zoneChanges = []zoneChange{
	{"Europe/Oslo", noon(2026, 3, 29), 2, 30}, {"Europe/Oslo", noon(2026, 10, 25), 2, 30},
	{"America/New_York", noon(2026, 3, 8), 2, 30}, {"America/New_York", noon(2026, 11, 1), 1, 30},
	{"Australia/Lord_Howe", noon(2026, 10, 4), 2, 15}, {"Australia/Lord_Howe", noon(2026, 4, 5), 1, 45},
	{"America/Santiago", noon(2026, 9, 6), 0, 30}, {"America/Santiago", noon(2026, 4, 5), 23, 30},
	{"Africa/Casablanca", noon(2026, 3, 22), 2, 30}, {"Africa/Casablanca", noon(2026, 2, 15), 2, 30},
}

// clockCases are of daylight saving time, leap days, clocks that jump, and clocks that are a little off.
func clockCases() (all []clockCase) {
	for _, c := range zoneChanges {
		all = append(all, c.cases()...)
	}
	all = append(all, leapCases()...)
	for name, by := range map[string]time.Duration{
		"+1h": time.Hour, "-1h": -time.Hour, "+1d": day, "-1d": -day, "+10y": 3652 * day, "-10y": -3652 * day,
		"1970": time.Unix(0, 0).Sub(jumpStart), "+50s": 50 * time.Second, "-50s": -50 * time.Second,
	} {
		all = append(all, jump("operator "+name, by, 0), jump("date "+name, 0, by))
	}
	for _, ahead := range []time.Duration{50 * time.Millisecond, -50 * time.Millisecond, time.Second, -time.Second} {
		all = append(all, boundary("0 0 * * *", day, v1alpha1.Keep{Daily: 5}, ahead), boundary("0 * * * *", time.Hour, v1alpha1.Keep{Hourly: 5}, ahead))
	}
	return all
}

// cases cover three days around a change, with a cron line that falls into it, and lines that fire throughout.
func (c zoneChange) cases() (all []clockCase) {
	zone, err := time.LoadLocation(c.zone)
	must(err)
	add := func(line string, slots func(anchor, until time.Time) [][]time.Time) {
		spec := baseSpec()
		spec.Schedule, spec.TimeZone = v1alpha1.CronLine(line), c.zone
		all = append(all, clockCase{
			name: fmt.Sprintf("%s %s %s", c.zone, c.at.Format(time.DateOnly), line),
			from: c.at.Add(-3 * day / 2), until: c.at.Add(3 * day / 2), spec: spec, slots: slots,
		})
	}
	add(fmt.Sprintf("%d %d * * *", c.minute, c.hour), func(anchor, until time.Time) [][]time.Time {
		return daily(c.hour, c.minute, zone, anchor, until)
	})
	for line, fires := range map[string]func(h, m int) bool{
		"0 * * * *":    func(_, m int) bool { return m == 0 },
		"*/30 * * * *": func(_, m int) bool { return m%30 == 0 },
		"15 */6 * * *": func(h, m int) bool { return h%6 == 0 && m == 15 },
	} {
		add(line, func(anchor, until time.Time) (slots [][]time.Time) {
			for t := range minutes(anchor, until) {
				if local := t.In(zone); fires(local.Hour(), local.Minute()) {
					slots = append(slots, []time.Time{t})
				}
			}
			return slots
		})
	}
	return all
}

// minutes are those after a time, until another.
func minutes(after, until time.Time) func(yield func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for t := after.Truncate(time.Minute).Add(time.Minute); !t.After(until); t = t.Add(time.Minute) {
			if !yield(t) {
				return
			}
		}
	}
}

// daily returns one slot for every local day, at the line's time: one of two, if it occurs twice. On a day without that time, the slot is
// due within the hour after the gap.
func daily(hour, minute int, zone *time.Location, anchor, until time.Time) (slots [][]time.Time) {
	date := func(t time.Time) string { return t.In(zone).Format(time.DateOnly) }
	byDay, gaps, days := map[string][]time.Time{}, map[string][]time.Time{}, []string{}
	for t := range minutes(anchor.Add(-day), until) {
		local := t.In(zone)
		if len(days) == 0 || days[len(days)-1] != date(t) {
			days = append(days, date(t))
		}
		if local.Hour() == hour && local.Minute() == minute {
			byDay[date(t)] = append(byDay[date(t)], t)
		}
		_, is := local.Zone()
		if _, was := t.Add(-time.Minute).In(zone).Zone(); is > was {
			for m := range 60 {
				gaps[date(t)] = append(gaps[date(t)], t.Add(time.Duration(m)*time.Minute))
			}
		}
	}
	for _, d := range days {
		due := byDay[d]
		if len(due) == 0 {
			due = gaps[d]
		}
		if len(due) > 0 && due[0].After(anchor) && !due[len(due)-1].After(until) {
			slots = append(slots, due)
		}
	}
	return slots
}

// leapCases cover 29 February, and 31 December of a leap year, for which Go's ZoneBounds is wrong.
func leapCases() (all []clockCase) {
	at := func(year int, month time.Month, d int) time.Time { return noon(year, month, d).Add(-6 * time.Hour) }
	add := func(line, zone string, from, until time.Time, slots ...time.Time) {
		spec := baseSpec()
		spec.Schedule, spec.TimeZone, spec.SnapshotTTL = v1alpha1.CronLine(line), zone, "40d"
		all = append(all, clockCase{
			name: from.Format(time.DateOnly) + " " + line, from: from, until: until, spec: spec,
			slots: func(_, _ time.Time) (due [][]time.Time) {
				for _, t := range slots {
					due = append(due, []time.Time{t})
				}
				return due
			},
		})
	}
	add("0 12 29 2 *", "", at(2028, 2, 20), at(2028, 3, 10), noon(2028, 2, 29))
	add("0 12 29 2 *", "", at(2032, 2, 27), at(2032, 3, 3), noon(2032, 2, 29))
	add("0 12 * * *", "", at(2028, 2, 27), at(2028, 3, 3),
		noon(2028, 2, 27), noon(2028, 2, 28), noon(2028, 2, 29), noon(2028, 3, 1), noon(2028, 3, 2))
	add("0 12 28-29 2 *", "", at(2027, 2, 27), at(2027, 3, 3), noon(2027, 2, 28))
	add("0 12 29 2 *", "", at(2100, 2, 26), at(2100, 3, 3))
	add("0 13 31 12 *", "Europe/Oslo", at(2028, 12, 29), at(2029, 1, 3), noon(2028, 12, 31))
	add("0 13 31 12 *", "Europe/Oslo", at(2040, 12, 29), at(2041, 1, 3), noon(2040, 12, 31))
	add("0 12 31 * *", "", at(2028, 2, 20), at(2028, 4, 3), noon(2028, 3, 31))
	return all
}

var jumpStart = time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)

func every(interval time.Duration, first, until time.Time) (slots [][]time.Time) {
	for t := first; !t.After(until); t = t.Add(interval) {
		slots = append(slots, []time.Time{t})
	}
	return slots
}

// jump has a clock that is wrong for seven hours, after a day, under an hourly schedule.
func jump(name string, operator, date time.Duration) clockCase {
	spec := baseSpec()
	spec.SnapshotInterval, spec.Retention.Keep = "1h", v1alpha1.Keep{}
	off, back := jumpStart.Add(day+13*time.Minute), jumpStart.Add(day+7*time.Hour+29*time.Minute)
	return clockCase{
		name: name, from: jumpStart, until: back.Add(30 * time.Hour), spec: spec,
		// An operator that is far behind sees nothing expire, so it has nothing to pause.
		pauses:  (operator-date).Abs() > time.Minute && operator > -6*time.Hour,
		changes: []clockChange{{off, operator, date}, {back, 0, 0}},
		slots: func(anchor, until time.Time) (slots [][]time.Time) {
			for _, due := range every(time.Hour, anchor, until) {
				// While its own clock is wrong, an operator cannot know the hour.
				if operator == 0 || due[0].Before(off) || due[0].After(back) {
					slots = append(slots, due)
				}
			}
			return slots
		},
	}
}

// boundary has every second slot, at the boundary of two periods of a tier, taken by a clock that is a little off, so that the API server
// may stamp the snapshot with the period before.
func boundary(line string, interval time.Duration, keep v1alpha1.Keep, ahead time.Duration) clockCase {
	spec := baseSpec()
	spec.Schedule, spec.SnapshotTTL, spec.Retention.Keep = v1alpha1.CronLine(line), "", keep
	from := jumpStart.Truncate(day).Add(interval / 2)
	c := clockCase{
		name: fmt.Sprintf("%s %+dms", line, ahead.Milliseconds()), from: from, until: from.Add(12 * interval), spec: spec,
		slots: func(anchor, until time.Time) [][]time.Time {
			return every(interval, anchor.Truncate(interval).Add(interval), until)
		},
	}
	for i := range 10 {
		c.changes = append(c.changes, clockChange{at: from.Add(time.Duration(i+1) * interval), operator: ahead * time.Duration((i+1)%2)})
	}
	return c
}
