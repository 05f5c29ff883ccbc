// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/schedule"
)

// world is one PVC with its snapshots, a driver with moods, and a controller
// that has nothing but the decisions of the two packages. It keeps no state.
type world struct {
	*rapid.T
	terms  schedule.Terms
	policy Policy
	// now is the API server's clock. The controller's is off by skew.
	now  time.Time
	skew time.Duration
	// look is when the controller asked to look again.
	look      time.Time
	snapshots []fate
	taken     map[time.Time]bool // slots that were taken when they had come
}

// fate is a snapshot, and what is to become of it in the storage system.
type fate struct {
	Snapshot
	cutAt, readyAt, goneAt time.Time // zero: never
}

// Contract: SLOT-8.
func TestSlotsAreTakenOnceAndTheNewestMissedOneIs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt)
		for range rapid.IntRange(10, 100).Draw(rt, "steps") {
			w.wait()
			if rapid.IntRange(0, 5).Draw(rt, "controller is down") > 0 {
				w.reconcile()
			}
		}
	})
}

func newWorld(t *rapid.T) *world {
	anchor := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	w := &world{T: t, now: anchor, taken: map[time.Time]bool{}}
	var rule schedule.Rule
	var err error
	if rapid.Bool().Draw(t, "cron") {
		loc, _ := schedule.LoadZone("America/New_York")
		rule, err = schedule.ParseCron(rapid.SampledFrom([]string{"30 2 * * *", "*/10 * * * *", "@hourly", "15 */6 * * mon-fri"}).Draw(t, "line"), loc)
	} else {
		rule, err = schedule.Every(rapid.SampledFrom([]time.Duration{10 * time.Minute, 6 * time.Hour, 24 * time.Hour}).Draw(t, "interval"))
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Minute, 2 * time.Hour, 72 * time.Hour})
	few := rapid.SampledFrom([]int{0, 0, 1, 3})
	w.terms = schedule.Terms{
		Timeline: rule.Timeline(anchor, schedule.Jitter("a UID", rapid.SampledFrom([]time.Duration{0, 5 * time.Minute}).Draw(t, "jitter"))),
		TTL:      limit.Draw(t, "ttl"), StartingDeadline: limit.Draw(t, "startingDeadline"),
	}
	w.policy = Policy{
		TTL:      w.terms.TTL,
		Keep:     Tiers{Last: few.Draw(t, "last"), Hourly: few.Draw(t, "hourly"), Daily: few.Draw(t, "daily")},
		MaxCount: few.Draw(t, "maxCount"), MinReady: few.Draw(t, "minReady"),
		ReadyDeadline: time.Hour,
	}
	// Clocks are never quite equal.
	w.skew = time.Duration(rapid.IntRange(-60, 60).Draw(t, "skew")) * time.Second
	return w
}

// wait lets time pass, and the storage system work.
func (w *world) wait() {
	if w.look.After(w.now) && rapid.Bool().Draw(w.T, "until the next look") {
		w.now = w.look
	} else {
		unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(w.T, "unit")
		w.now = w.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(w.T, "wait")) * unit)
	}
	if rapid.IntRange(0, 9).Draw(w.T, "run now") == 0 {
		w.terms.Requested = []time.Time{w.now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(w.T, "in")) * time.Hour)}
	}
	w.terms.Suspend = rapid.IntRange(0, 9).Draw(w.T, "suspend") == 0
	w.snapshots = slices.DeleteFunc(w.snapshots, func(f fate) bool {
		return f.Deleting && !f.goneAt.After(w.now)
	})
	for i := range w.snapshots {
		f := &w.snapshots[i]
		if !f.cutAt.IsZero() && !f.cutAt.After(w.now) && !f.Deleting {
			f.HasCutTime, f.CutTime = true, f.cutAt
		}
		if !f.readyAt.IsZero() && !f.readyAt.After(w.now) && f.HasCutTime {
			f.ReadyToUse = true
		}
	}
}

// reconcile is one pass of the controller.
func (w *world) reconcile() {
	// Sometimes its clock is a year ahead, or in 1970. The guards see that and
	// delete nothing, but it takes snapshots by it.
	local, trusted := w.now.Add(w.skew), true
	switch rapid.IntRange(0, 19).Draw(w.T, "clock") {
	case 0:
		local, trusted = w.now.AddDate(1, 0, 0), false
	case 1:
		local, trusted = time.Unix(0, 0), false
	case 2:
		local, trusted = w.now.Add(-time.Hour), false
	}

	series := Series{}
	for _, f := range w.snapshots {
		series.Snapshots = append(series.Snapshots, f.Snapshot)
	}
	slots := w.terms.At(local)
	slot := slots.Current
	series.Slot = slot
	decision := Decide(w.policy, local, series)
	take := decision.Take
	w.look = time.Time{}
	for _, at := range []time.Time{slots.Next, slots.Until, decision.Next} {
		if at = at.Add(-w.skew); trusted && at.After(w.now) && (w.look.IsZero() || at.Before(w.look)) {
			w.look = at
		}
	}

	if take.Create() {
		w.create(slot, trusted)
	}
	if trusted {
		w.check(take, slot, local)
		w.delete(slot, local, series, decision)
	}
}

func (w *world) create(slot time.Time, trusted bool) {
	name := fmt.Sprint("at-", slot.Unix())
	for _, f := range w.snapshots {
		if f.Name == name {
			w.Fatalf("slot %v is taken while its snapshot exists: %+v", slot, f)
		}
		if f.Uncut() {
			w.Fatalf("slot %v is taken while one is uncut: %+v", slot, f)
		}
	}
	if trusted { // a slot that a wrong clock sees may come again by the right one
		if w.taken[slot] {
			w.Fatalf("slot %v is taken twice", slot)
		}
		w.taken[slot] = true
	}
	created := w.now.Truncate(time.Second)
	f := fate{Snapshot: Snapshot{Name: name, Created: created, ScheduledAt: slot}}
	if rapid.IntRange(0, 9).Draw(w.T, "never cut") > 0 {
		f.cutAt = created.Add(time.Duration(rapid.IntRange(0, 90).Draw(w.T, "cut after")) * time.Minute)
		if rapid.IntRange(0, 9).Draw(w.T, "never ready") > 0 {
			f.readyAt = f.cutAt.Add(time.Duration(rapid.IntRange(0, 90).Draw(w.T, "ready after")) * time.Minute)
		} else {
			f.HasError = rapid.Bool().Draw(w.T, "error")
		}
	}
	w.snapshots = append(w.snapshots, f)
}

// delete carries out a decision; what is deleted may linger.
func (w *world) delete(slot, local time.Time, series Series, d Decision) {
	ready := 0
	for i, v := range d.Verdicts {
		if series.Snapshots[i].isReady() && !v.Delete() {
			ready++
		}
		if v == Replaced {
			// Its own slot may become current again: by suspending, say, if it
			// was a run-now.
			if !series.Snapshots[i].Slot(local).Before(slot) {
				w.Fatalf("%+v is replaced for slot %v", series.Snapshots[i], slot)
			}
			delete(w.taken, series.Snapshots[i].ScheduledAt)
		}
		if v.Delete() {
			w.snapshots[i].Deleting = true
			w.snapshots[i].goneAt = w.now.Add(time.Duration(rapid.IntRange(0, 5).Draw(w.T, "lingers")) * time.Minute)
		}
	}
	had := 0
	for _, s := range series.Snapshots {
		if s.isReady() {
			had++
		}
	}
	if ready < min(had, w.policy.MinReady) {
		w.Fatalf("%d of %d ready ones left, minReady %d", ready, had, w.policy.MinReady)
	}
	w.snapshots = slices.DeleteFunc(w.snapshots, func(f fate) bool {
		return f.Deleting && !f.goneAt.After(w.now)
	})
}

// check: the current slot is served, or there is a reason why not.
func (w *world) check(take Take, slot, local time.Time) {
	if slot.IsZero() {
		return
	}
	if next, _ := w.terms.Timeline.Next(slot); !w.terms.Suspend && !next.After(local) {
		w.Fatalf("slot %v is taken, but %v is newer", slot, next)
	}
	var now []Snapshot
	for _, f := range w.snapshots {
		now = append(now, f.Snapshot)
	}
	if take.Block == NotBlocked && !Covered(now, slot, local) {
		w.Fatalf("slot %v is not served at %v: %+v", slot, local, now)
	}
	if take.Block != NotBlocked && take.Blocker < 0 {
		w.Fatalf("slot %v is blocked by nothing", slot)
	}
}
