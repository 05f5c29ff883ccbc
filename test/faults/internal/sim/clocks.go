// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// clocks are by how much the clocks that operators see are off.
type clocks struct {
	// operator is the error of the operators' clock, date that of the Date header. Timestamps in objects are always right.
	operator, date time.Duration
	// window is the index of the open skew window plus one, 0 if none is open.
	window int
	// processes counts the starts of operators.
	processes int
}

// setClocks sets both errors. A window is recorded while the clocks differ by more than the operator tolerates, with a margin for a
// Date in whole seconds: then nothing may be deleted.
func (sim *simulation) setClocks(operator, date time.Duration) {
	sim.clocks.operator, sim.clocks.date = operator, date
	skewed := (operator - date).Abs() > maxClockSkew+2*time.Second
	switch {
	case skewed && sim.clocks.window == 0:
		sim.history.Windows = append(sim.history.Windows, history.Window{Kind: history.Skewed, From: sim.now, Process: -1})
		sim.clocks.window = len(sim.history.Windows)
	case !skewed && sim.clocks.window > 0:
		sim.history.Windows[sim.clocks.window-1].Until = sim.now
		sim.clocks.window = 0
	}
}

// date returns the Date header of an answer.
func (sim *simulation) date() time.Time { return sim.now.Add(sim.clocks.date).Truncate(time.Second) }
