// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sim plays the whole decision path of the product, from watch events to
// writes and status, in one loop under a clock of its own: ninety days of a
// cluster in a moment, with users, drivers, crashes, lagging caches and lying
// clocks drawn from a seed. One seed gives one history, to the byte.
package sim

import (
	"net/http"
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// Days is how long things go wrong in a run.
const Days = 90

// Result is what a run came to.
type Result struct {
	Seed    uint64
	History *history.History
	// Violations are the guarantees that were broken, in the order of oracles.
	Violations []oracle.Violation
	// Open are those that are known (open.go).
	Open []oracle.Violation
	// Reconciles counts the operators' looks, Snapshots what they created.
	Reconciles, Snapshots int
}

// Run lives one life and judges it.
func Run(seed uint64) Result {
	w, atEnd := live(seed)
	violations, known := w.split(slices.Concat(oracle.Judge(w.history), Slots(w.history), Orphans(w.history), atEnd))
	return Result{
		Seed: seed, History: w.history, Reconciles: w.reconciles, Snapshots: w.snapshots(),
		Violations: violations, Open: known,
	}
}

// live lives one life: with faults, then without, then with nothing to do.
func live(seed uint64) (w *world, atEnd []oracle.Violation) {
	const day = 24 * time.Hour
	w = newWorld(seed)
	until := began.Add(Days * day)
	w.statusInterval = pick(w.chance, 5*time.Second, time.Minute, 10*time.Minute)
	w.statusDelay = pick(w.chance, 10*time.Minute, time.Hour, 3*time.Hour, 3*time.Hour, 6*time.Hour, 6*time.Hour, 6*time.Hour)
	l := newLife(w, until)
	w.start(w.statusInterval, w.lag)
	w.history.Windows = append(w.history.Windows, history.Window{Kind: history.Faulty, From: began, Until: until, Process: -1})
	w.run(until)
	w.calm()
	w.run(w.now.Add(calmDays * day))
	for range 5 { // status may be behind what has just happened, by its interval
		if atEnd = judgeEnd(w); len(atEnd) == 0 {
			break
		}
		w.run(w.now.Add(slack / 2))
	}
	atEnd = append(atEnd, l.collide()...)
	l.rest()
	w.run(w.now.Add(2 * day))
	idle := history.Window{Kind: history.Idle, From: w.now, Process: -1}
	w.run(w.now.Add(day / 4))
	idle.Until = w.now
	w.history.Windows = append(w.history.Windows, idle)
	w.history.Ended = w.now
	return w, atEnd
}

// snapshots counts what the operators created.
func (w *world) snapshots() int {
	n := 0
	for _, r := range w.history.Requests {
		if r.Verb == "create" && r.Resource == kube.Snapshots.Resource().Resource && r.Code == http.StatusOK {
			n++
		}
	}
	return n
}
