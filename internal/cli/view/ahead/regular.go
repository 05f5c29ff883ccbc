// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"iter"
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// The simulation of a series that has become regular asks retention alone. This is the only special case of a simulation: a pass of
// the whole decision, which reads every snapshot anew, takes several times as long. A test compares the two.

// pass is what one pass of a simulation has decided.
type pass struct {
	at time.Time
	// judgment is the whole decision; nil if retention alone decided.
	judgment *snapshots.Judgment
	// kept is how many snapshots are left, ended has the names of those that are deleted, with the reasons.
	kept  int
	ended map[string]string
}

// passes iterates over the passes until a time. Incomplete is set if the simulation is exhausted before.
func (sim *Simulation) passes(until time.Time) iter.Seq[*pass] {
	return func(yield func(*pass) bool) {
		for creates := false; !sim.Now.After(until); {
			if sim.Incomplete = sim.Exhausted(); sim.Incomplete {
				return
			}
			at, d, more := sim.Step()
			p := &pass{at: at, judgment: &d, kept: len(d.Outputs) - len(d.Delete), ended: make(map[string]string, len(d.Delete))}
			for _, removal := range d.Delete {
				p.ended[removal.Object.GetName()] = removal.Reason
			}
			if !yield(p) || !more {
				return
			}
			creates = creates || len(d.Create) > 0
			if creates && len(sim.events) == 0 && sim.Now.After(at) && regular(&d, at) && !sim.judge.Delays(at) {
				sim.regularPasses(&d, at, until, yield)
				return
			}
		}
	}
}

// regular returns whether nothing but new snapshots and the passing of time changes a series in which snapshots are taken.
func regular(d *snapshots.Judgment, now time.Time) bool {
	s := &d.Series
	return d.Group == "" && !d.Limited && s.Claim == retention.Selected && !s.ClaimDeleting &&
		!slices.ContainsFunc(s.Snapshots, func(s retention.Snapshot) bool {
			return !s.ReadyToUse || s.Deleting || s.Imported || s.Created.After(now) || s.HasCutTime && s.CutTime.After(now) ||
				s.ScheduledAt.IsZero() || s.ScheduledAt.After(s.Created)
		})
}

// slotsAtOnce is how many slots of a series are computed together.
const slotsAtOnce = 64

// regularPasses continues a simulation after a judgment of a time. The snapshots that it takes have no names.
func (sim *Simulation) regularPasses(d *snapshots.Judgment, now, until time.Time, yield func(*pass) bool) {
	judge, of := sim.judge, sim.of.Judged()
	p, slots := &pass{ended: map[string]string{}}, judge.NextSlots(of, now, slotsAtOnce)
	series := p.left(slices.Clone(d.Series.Snapshots), d.Retention.Verdicts)
	for change := d.Retention.Next; len(slots) > 0 || !change.IsZero(); {
		taken := change.IsZero() || len(slots) > 0 && !slots[0].After(change)
		if p.at = change; taken {
			p.at = slots[0]
		}
		if sim.Incomplete = sim.Exhausted(); sim.Incomplete || p.at.After(until) {
			return
		}
		if taken {
			series = append(series, retention.Snapshot{Created: p.at, ScheduledAt: p.at, ReadyToUse: true, HasCutTime: true, CutTime: p.at})
			if slots = slots[1:]; len(slots) == 0 {
				slots = judge.NextSlots(of, p.at, slotsAtOnce)
			}
		}
		decided := retention.Decide(judge.Policy(), p.at, retention.Series{Claim: retention.Selected, Snapshots: series})
		change, sim.work = decided.Next, sim.work+len(series)+1
		if series = p.left(series, decided.Verdicts); !yield(p) {
			return
		}
	}
}

// left returns what verdicts leave of a series, in its array, and notes the rest.
func (p *pass) left(series []retention.Snapshot, verdicts []retention.Verdict) []retention.Snapshot {
	clear(p.ended)
	left := series[:0]
	for i, v := range verdicts {
		if !v.Delete() {
			left = append(left, series[i])
		} else if name := series[i].Name; name != "" {
			p.ended[name] = v.String()
		}
	}
	p.kept = len(left)
	return left
}
