// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// ahead continues a simulation that has become regular: nothing but new snapshots
// and the passing of time changes the series. It asks retention alone, about
// values, and skips slots: preview needs the ends of the snapshots that exist at
// the beginning, and most slots delete none of them.
//
// Several slots are taken at once, and retention decides at the last of them. If
// none of the existing snapshots is deleted then, none would have been at the
// slots before: in a regular series the verdict on a snapshot changes from keep to
// delete at most once, and a snapshot that is deleted changes no other verdict.
// Only maxCount together with tiers breaks this rule, because tiers keep more
// snapshots at some slots than at others. So no slot is skipped at which maxCount
// could delete something.
type ahead struct {
	policy retention.Policy
	// series has the snapshots that are left. Those taken after the beginning have
	// no name.
	series []retention.Snapshot
	now    time.Time
	// next is when time alone may change the verdicts.
	next  time.Time
	slots slotsAhead
	ended func(name string, at time.Time, v retention.Verdict)
	work  int
}

// slotsAhead are the slots of a PVC up to a time.
type slotsAhead struct {
	next  func(now time.Time, n int) []time.Time
	until time.Time
	found []time.Time
}

// regular returns whether a simulation in which snapshots are taken can be
// continued by ahead.
func regular(d *snapshots.Judgment, now time.Time) bool {
	s := &d.Series
	return s.Claim == retention.Selected && !s.ClaimDeleting &&
		!slices.ContainsFunc(s.Snapshots, func(s retention.Snapshot) bool {
			return !s.ReadyToUse || s.Deleting || s.Imported || s.Created.After(now) || s.HasCutTime && s.CutTime.After(now) ||
				s.ScheduledAt.IsZero() || s.ScheduledAt.After(s.Created)
		})
}

// run lets time pass until a time, or until no snapshot is left that existed at
// the beginning. It returns false if that takes too long.
func (a *ahead) run(left int) bool {
	skip := 1
	for left > 0 && a.work <= maxWork {
		slots := a.slots.after(a.now, skip)
		if a.capped(len(slots)) && len(slots) > 1 {
			slots, skip = slots[:1], 1
		}
		switch {
		case len(slots) > 1:
			if !a.take(slots) {
				skip = len(slots) / 2
				continue
			}
			skip = 2 * len(slots)
		case !a.next.IsZero() && (len(slots) == 0 || a.next.Before(slots[0])):
			if a.next.After(a.slots.until) {
				return true
			}
			left -= a.pass(a.next)
		case len(slots) == 0:
			return true
		default:
			a.series = append(a.series, taken(slots[0]))
			ended := a.pass(slots[0])
			left -= ended
			if ended == 0 {
				skip = 2
			}
		}
	}
	return left == 0
}

// capped returns whether maxCount may delete something before n more snapshots are
// taken.
func (a *ahead) capped(n int) bool {
	return a.policy.MaxCount > 0 && len(a.series)+n > a.policy.MaxCount
}

// take takes the snapshots of some slots at once, unless an existing one would be
// deleted by the last of them.
func (a *ahead) take(slots []time.Time) bool {
	before := len(a.series)
	for _, slot := range slots {
		a.series = append(a.series, taken(slot))
	}
	d := a.decide(slots[len(slots)-1])
	for i, v := range d.Verdicts {
		if v.Delete() && a.series[i].Name != "" {
			a.series = a.series[:before]
			return false
		}
	}
	a.accept(slots[len(slots)-1], &d)
	return true
}

// pass decides at a time, and returns how many existing snapshots end.
func (a *ahead) pass(at time.Time) (ended int) {
	d := a.decide(at)
	for i, v := range d.Verdicts {
		if name := a.series[i].Name; v.Delete() && name != "" {
			a.ended(name, at, v)
			ended++
		}
	}
	a.accept(at, &d)
	return ended
}

func (a *ahead) decide(at time.Time) retention.Decision {
	a.work += len(a.series) + 1
	return retention.Decide(a.policy, at, retention.Series{Claim: retention.Selected, Snapshots: a.series})
}

func (a *ahead) accept(at time.Time, d *retention.Decision) {
	left := a.series[:0]
	for i, v := range d.Verdicts {
		if !v.Delete() {
			left = append(left, a.series[i])
		}
	}
	a.series, a.now, a.next = left, at, d.Next
}

// taken is a snapshot that is taken at its slot, and ready at once.
func taken(slot time.Time) retention.Snapshot {
	return retention.Snapshot{Created: slot, ScheduledAt: slot, ReadyToUse: true, HasCutTime: true, CutTime: slot}
}

// after returns the next n slots, fewer if there are no more until the end.
func (s *slotsAhead) after(now time.Time, n int) []time.Time {
	passed := 0
	for passed < len(s.found) && !s.found[passed].After(now) {
		passed++
	}
	s.found = s.found[passed:]
	if missing := n - len(s.found); missing > 0 {
		last := now
		if len(s.found) > 0 {
			last = s.found[len(s.found)-1]
		}
		if !last.After(s.until) {
			s.found = append(s.found, s.next(last, missing)...)
		}
	}
	found := s.found[:min(n, len(s.found))]
	for len(found) > 0 && found[len(found)-1].After(s.until) {
		found = found[:len(found)-1]
	}
	return found
}
