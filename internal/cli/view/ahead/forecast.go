// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package ahead

import (
	"cmp"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// Forecast are the ends of those snapshots of a series that exist at the beginning.
type Forecast struct {
	counted int
	Ends    map[string]end
	delayed map[string]int // at first, by reason
	misfits []string       // what the storage has no place for, at first
	stops   string         // why no snapshots are taken, at first
	takes   time.Time      // the slot for which one is taken, at first
	// Incomplete is set if the simulation was exhausted, at the time Until.
	Incomplete bool
	Until      time.Time
}

type end struct {
	At     time.Time
	reason string
}

// ForecastOf lets time pass over a series, within an amount of work (zero: MaxWork). Without a judge nothing is deleted.
func ForecastOf(judge *snapshots.Judge, of *view.Series, now, until time.Time, work int) Forecast {
	f := Forecast{Ends: map[string]end{}, delayed: map[string]int{}}
	if judge == nil {
		return f
	}
	var existing map[string]bool
	sim := Simulate(judge, now, of)
	sim.limit = cmp.Or(work, MaxWork)
	for p := range sim.passes(until) {
		if existing == nil {
			existing = f.begin(p.judgment)
		}
		for name, reason := range p.ended {
			if existing[name] {
				f.Ends[name] = end{p.at, reason}
			}
		}
		if len(f.Ends) == len(existing) {
			break
		}
	}
	f.Incomplete, f.Until = sim.Incomplete, sim.Now
	return f
}

// begin counts the snapshots that exist at the beginning. It returns the names of those that
// may have an end, which one with data that is held forever has not.
func (f *Forecast) begin(d *snapshots.Judgment) map[string]bool {
	f.counted = len(d.Outputs)
	existing := map[string]bool{}
	for i := range d.Outputs {
		if s := &d.Series.Snapshots[i]; !s.Deleting && (s.Uncut() || !s.HeldUntil.Equal(retention.Forever)) {
			existing[s.Name] = true
		}
		if reason := d.KeptFor[i]; reason != "" {
			f.delayed[reason]++
		}
	}
	for _, p := range d.Problems {
		switch p.Reason {
		case v1alpha1.ReasonVolumeLimit, v1alpha1.ReasonInvalidClassAnnotation:
			f.misfits = append(f.misfits, p.Message)
		case v1alpha1.ReasonGroupStopped: // it passes by itself when the PVC is Bound
			f.misfits = append(f.misfits, strings.TrimPrefix(p.String(), p.Claim+": "))
		}
	}
	f.stops, f.takes = stops(d), takes(d)
	return existing
}

// garbage are the snapshots that are deleted with their schedule: those that have a
// reference to it, and no other owner. Those that stay are counted if they are its own.
func garbage(s *v1alpha1.SnapshotSchedule, of *view.Series, now time.Time) Forecast {
	f := Forecast{Ends: map[string]end{}}
	for _, o := range of.Snapshots {
		collected := snapshots.CollectedWith(o, s)
		if collected {
			f.Ends[o.GetName()] = end{now, reasonGarbage}
		}
		if collected || snapshots.Ownership.Owns(s, o) {
			f.counted++
		}
	}
	return f
}
