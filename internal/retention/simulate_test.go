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

// simulation is one PVC with its snapshots, an unreliable driver, and a controller
// that does what packages schedule and retention decide and keeps no state.
type simulation struct {
	*rapid.T
	criteria schedule.Criteria
	policy   Policy
	// now is the API server's clock. The controller's clock differs by skew.
	now  time.Time
	skew time.Duration
	// requeueAt is when the controller asked to be called again.
	requeueAt time.Time
	snapshots []simulated
	taken     map[time.Time]bool // the slots taken by a controller whose clock was right
}

// simulated is a snapshot with the times at which the driver changes it; zero
// is never.
type simulated struct {
	Snapshot
	cutAt, readyAt, goneAt time.Time
}

// Contract: SLOT-8.
func TestSimulationTakesTheNewestMissedSlotOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSimulation(rt)
		for range rapid.IntRange(10, 100).Draw(rt, "steps") {
			s.wait()
			if rapid.IntRange(0, 5).Draw(rt, "controller is down") > 0 {
				s.reconcile()
			}
		}
	})
}

func newSimulation(t *rapid.T) *simulation {
	anchor := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := &simulation{T: t, now: anchor, taken: map[time.Time]bool{}}
	var rule schedule.Rule
	var err error
	if rapid.Bool().Draw(t, "cron") {
		loc, _ := schedule.LoadZone("America/New_York")
		lines := []string{"30 2 * * *", "*/10 * * * *", "@hourly", "15 */6 * * mon-fri"}
		rule, err = schedule.ParseCron(rapid.SampledFrom(lines).Draw(t, "line"), loc)
	} else {
		rule, err = schedule.Every(rapid.SampledFrom([]time.Duration{10 * time.Minute, 6 * time.Hour, day}).Draw(t, "interval"))
	}
	if err != nil {
		t.Fatal(err)
	}
	limit := rapid.SampledFrom([]time.Duration{0, 0, 5 * time.Minute, 2 * time.Hour, 3 * day})
	few := rapid.SampledFrom([]int{0, 0, 1, 3})
	jitter := rapid.SampledFrom([]time.Duration{0, 5 * time.Minute}).Draw(t, "jitter")
	s.criteria = schedule.Criteria{
		Timeline: rule.Timeline(anchor, schedule.Jitter("a UID", jitter)),
		TTL:      limit.Draw(t, "ttl"), StartingDeadline: limit.Draw(t, "startingDeadline"),
	}
	s.policy = Policy{
		TTL:      s.criteria.TTL,
		Keep:     Tiers{Last: few.Draw(t, "last"), Hourly: few.Draw(t, "hourly"), Daily: few.Draw(t, "daily")},
		MaxCount: few.Draw(t, "maxCount"), MinReady: few.Draw(t, "minReady"),
		ReadyDeadline: time.Hour,
	}
	s.skew = time.Duration(rapid.IntRange(-60, 60).Draw(t, "skew")) * time.Second
	return s
}

// wait lets time pass, changes what a user can change, and lets the driver work.
func (s *simulation) wait() {
	if s.requeueAt.After(s.now) && rapid.Bool().Draw(s.T, "until requeued") {
		s.now = s.requeueAt
	} else {
		unit := rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, day}).Draw(s.T, "unit")
		s.now = s.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(s.T, "wait")) * unit)
	}
	if rapid.IntRange(0, 9).Draw(s.T, "requested") == 0 {
		s.criteria.Requested = s.now.Add(time.Duration(rapid.IntRange(-5, 5).Draw(s.T, "in")) * time.Hour)
	}
	s.criteria.Suspend = rapid.IntRange(0, 9).Draw(s.T, "suspend") == 0
	s.removeGone()
	for i := range s.snapshots {
		x := &s.snapshots[i]
		if !x.cutAt.IsZero() && !x.cutAt.After(s.now) && !x.Deleting {
			x.HasCutTime, x.CutTime = true, x.cutAt
		}
		if !x.readyAt.IsZero() && !x.readyAt.After(s.now) && x.HasCutTime {
			x.ReadyToUse = true
		}
	}
}

func (s *simulation) removeGone() {
	s.snapshots = slices.DeleteFunc(s.snapshots, func(x simulated) bool {
		return x.Deleting && !x.goneAt.After(s.now)
	})
}

func (s *simulation) current() []Snapshot {
	var all []Snapshot
	for _, x := range s.snapshots {
		all = append(all, x.Snapshot)
	}
	return all
}

func (s *simulation) reconcile() {
	// Sometimes the controller's clock is wrong by more than skew. The guards
	// notice and delete nothing, but snapshots are taken by that clock.
	local, trusted := s.now.Add(s.skew), true
	switch rapid.IntRange(0, 19).Draw(s.T, "clock") {
	case 0:
		local, trusted = s.now.AddDate(1, 0, 0), false
	case 1:
		local, trusted = time.Unix(0, 0), false
	case 2:
		local, trusted = s.now.Add(-time.Hour), false
	}

	slots := s.criteria.At(local)
	series := Series{Slot: slots.Current, Snapshots: s.current()}
	decision := Decide(s.policy, local, series)
	s.requeueAt = time.Time{}
	for _, at := range []time.Time{slots.Next, slots.Until, decision.Next} {
		if at = at.Add(-s.skew); trusted && at.After(s.now) && (s.requeueAt.IsZero() || at.Before(s.requeueAt)) {
			s.requeueAt = at
		}
	}

	if decision.Take.Create() {
		s.create(series.Slot, trusted)
	}
	if trusted {
		s.checkCovered(decision.Take, series.Slot, local)
		s.delete(local, series, decision)
	}
}

func (s *simulation) create(slot time.Time, trusted bool) {
	name := fmt.Sprint("at-", slot.Unix())
	for _, x := range s.snapshots {
		if x.Name == name {
			s.Fatalf("slot %v is taken although its snapshot exists: %+v", slot, x)
		}
		if x.Uncut() {
			s.Fatalf("slot %v is taken although a snapshot is uncut: %+v", slot, x)
		}
	}
	if trusted { // a slot taken by a clock that runs ahead may be current again later
		if s.taken[slot] {
			s.Fatalf("slot %v is taken twice", slot)
		}
		s.taken[slot] = true
	}
	created := s.now.Truncate(time.Second)
	x := simulated{Snapshot: Snapshot{Name: name, Created: created, ScheduledAt: slot}}
	if rapid.IntRange(0, 9).Draw(s.T, "never cut") > 0 {
		x.cutAt = created.Add(time.Duration(rapid.IntRange(0, 90).Draw(s.T, "cut after")) * time.Minute)
		if rapid.IntRange(0, 9).Draw(s.T, "never ready") > 0 {
			x.readyAt = x.cutAt.Add(time.Duration(rapid.IntRange(0, 90).Draw(s.T, "ready after")) * time.Minute)
		} else {
			x.HasError = rapid.Bool().Draw(s.T, "error")
		}
	}
	s.snapshots = append(s.snapshots, x)
}

// delete carries out the deletes of a decision. Deleted snapshots may be
// terminating for a while.
func (s *simulation) delete(local time.Time, series Series, d Decision) {
	for i, v := range d.Verdicts {
		if v == Replaced {
			if !series.Snapshots[i].Slot(local).Before(series.Slot) {
				s.Fatalf("%+v is replaced for slot %v", series.Snapshots[i], series.Slot)
			}
			// Its own slot may become current again, for example if the slot was
			// requested and the schedule is suspended now.
			delete(s.taken, series.Snapshots[i].ScheduledAt)
		}
		if v.Delete() {
			s.snapshots[i].Deleting = true
			s.snapshots[i].goneAt = s.now.Add(time.Duration(rapid.IntRange(0, 5).Draw(s.T, "terminating")) * time.Minute)
		}
	}
	before, after := countReady(series), countReady(remaining(series, d))
	if after < min(before, s.policy.MinReady) {
		s.Fatalf("%d of %d ready snapshots remain, minReady %d", after, before, s.policy.MinReady)
	}
	s.removeGone()
}

// checkCovered fails unless the current slot is covered or blocked.
func (s *simulation) checkCovered(take Take, slot, local time.Time) {
	if slot.IsZero() {
		return
	}
	if next, _ := s.criteria.Timeline.Next(slot); !s.criteria.Suspend && !next.After(local) {
		s.Fatalf("slot %v is current, but %v is newer", slot, next)
	}
	if take.Block == NotBlocked && !Covered(s.current(), slot, local) {
		s.Fatalf("slot %v is not covered at %v: %+v", slot, local, s.current())
	}
	if take.Block != NotBlocked && take.Blocker < 0 {
		s.Fatalf("slot %v is blocked by nothing", slot)
	}
}
