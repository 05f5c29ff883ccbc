/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// Package sim plays the whole decision path of the product, from watch events to
// writes and status, in one loop under a clock of its own: ninety days of a
// cluster in a moment, with users, drivers, crashes, lagging caches and lying
// clocks drawn from a seed. One seed gives one history, to the byte.
package sim

import (
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
)

// Days is how long things go wrong in a run.
const Days = 90

// Result is what a run came to.
type Result struct {
	Seed    uint64
	History *history.History
	// Violations are the guarantees that were broken, in the order of oracles.
	Violations []oracle.Violation
	// Reconciles counts the operators' looks, Snapshots what they created.
	Reconciles, Snapshots, Statuses int
}

// Run lives one life and judges it.
func Run(seed uint64) Result {
	w := Live(seed)
	r := Result{Seed: seed, History: w.history, Reconciles: w.reconciles, Statuses: w.statuses}
	r.Violations = oracle.Judge(w.history)
	return r
}

// Live lives one life.
func Live(seed uint64) *world {
	w := newWorld(seed)
	end := began.Add(Days * 24 * time.Hour)
	w.statusInterval = pick(w.chance, 5*time.Second, time.Minute, 10*time.Minute)
	w.statusDelay = pick(w.chance, 10*time.Minute, time.Hour, 3*time.Hour, 3*time.Hour, 6*time.Hour, 6*time.Hour, 6*time.Hour)
	newLife(w, end)
	w.start(w.statusInterval, w.lag)
	w.run(end)
	w.calm()
	w.run(end.Add(4 * 24 * time.Hour))
	w.history.Ended = w.now
	return w
}
