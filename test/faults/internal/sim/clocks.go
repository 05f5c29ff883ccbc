// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
)

// clocks are how far those that the operators see are off.
type clocks struct {
	// operator is that of the operators' own clock, date that of the Date header.
	// What the server stamps objects with is always right.
	operator, date time.Duration
	// window is the number of the open window of skew, from 1.
	window int
	// processes counts the starts of operators.
	processes int
}

// setClocks sets both, and writes down if nothing may be deleted any more: where
// they differ by more than an answer, with its whole seconds, can leave open.
func (w *world) setClocks(operator, date time.Duration) {
	w.clocks.operator, w.clocks.date = operator, date
	skewed := (operator - date).Abs() > maxClockSkew+2*time.Second
	switch {
	case skewed && w.clocks.window == 0:
		w.history.Windows = append(w.history.Windows, history.Window{Kind: history.Skewed, From: w.now, Process: -1})
		w.clocks.window = len(w.history.Windows)
	case !skewed && w.clocks.window > 0:
		w.history.Windows[w.clocks.window-1].Until = w.now
		w.clocks.window = 0
	}
}

// date is the server's clock as its answers tell it.
func (w *world) date() time.Time { return w.now.Add(w.clocks.date).Truncate(time.Second) }
