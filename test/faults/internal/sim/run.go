// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// Days is how long faults happen in a simulation.
const Days = 90

// Result is the outcome of one simulation.
type Result struct {
	Seed    uint64
	History *history.History
	// Findings has the broken guarantees, in the order of the oracles.
	oracle.Findings
	// Reconciles counts the operators' reconciles, Snapshots what they created.
	Reconciles, Snapshots int
}

// Run simulates a seed and judges it.
func Run(seed uint64) Result {
	sim, atEnd := simulate(seed)
	found := oracle.JudgeAll(sim.history)
	found.Violations = slices.Concat(found.Violations, oracle.Slots(sim.history), atEnd)
	return Result{
		Seed: seed, History: sim.history, Reconciles: sim.reconciles, Snapshots: sim.snapshotsCreated(), Findings: found,
	}
}

// simulate runs a seed: with faults, then without, then with nothing to do.
func simulate(seed uint64) (sim *simulation, atEnd []oracle.Violation) {
	const day = 24 * time.Hour
	sim = newSimulation(seed)
	until := startTime.Add(Days * day)
	sim.statusInterval = pick(sim.actionRand, 5*time.Second, time.Minute, 10*time.Minute)
	sim.statusDelay = pick(sim.actionRand, 10*time.Minute, time.Hour, 3*time.Hour, 3*time.Hour, 6*time.Hour, 6*time.Hour, 6*time.Hour)
	sc := newScenario(sim, until)
	sim.start(sim.statusInterval, sim.listLag)
	sim.history.Windows = append(sim.history.Windows, history.Window{Kind: history.Faulty, From: startTime, Until: until, Process: -1})
	sim.run(until)
	sim.stopFaults()
	sim.run(sim.now.Add(quietDays * day))
	for range 5 { // status lags behind the latest changes, by its interval
		if atEnd = judgeFinalState(sim); len(atEnd) == 0 {
			break
		}
		sim.run(sim.now.Add(slack / 2))
	}
	atEnd = append(atEnd, sc.judgeNameCollision()...)
	sc.goIdle()
	sim.run(sim.now.Add(2 * day))
	idle := history.Window{Kind: history.Idle, From: sim.now, Process: -1}
	sim.run(sim.now.Add(day / 4))
	idle.Until = sim.now
	sim.history.Windows = append(sim.history.Windows, idle)
	sim.history.Ended = sim.now
	return sim, atEnd
}

// snapshotsCreated counts the operators' successful creates.
func (sim *simulation) snapshotsCreated() int {
	n := 0
	for _, r := range sim.history.Requests {
		if r.Verb == "create" && r.Resource == kube.Snapshots.Resource().Resource && r.Code == http.StatusOK {
			n++
		}
	}
	return n
}

// Progress is reported after each of many simulations.
type Progress struct {
	Done, Total, Failed int
	Took                time.Duration
	// Last is the simulation that has just ended.
	Last *Result
}

// RunMany simulates n seeds, from the first on, as many at once as there are processors, and returns those that broke a guarantee, by
// seed. It calls progress, unless nil, from one goroutine at a time. When the context ends it starts no more.
func RunMany(ctx context.Context, first uint64, n int, progress func(Progress)) []Result {
	var (
		mu        sync.Mutex
		failed    = map[uint64]Result{}
		p         = Progress{Total: n}
		startedAt = time.Now()
		seeds     = make(chan uint64)
		workers   sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := range seeds {
				r := Run(seed)
				mu.Lock()
				if len(r.Violations) > 0 {
					failed[seed] = r
				}
				p.Done++
				p.Failed, p.Took, p.Last = len(failed), time.Since(startedAt), &r
				if progress != nil {
					progress(p)
				}
				mu.Unlock()
			}
		})
	}
	for seed := first; seed < first+uint64(n) && ctx.Err() == nil; seed++ {
		seeds <- seed
	}
	close(seeds)
	workers.Wait()
	var results []Result
	for seed := first; seed < first+uint64(n); seed++ {
		if r, ok := failed[seed]; ok {
			results = append(results, r)
		}
	}
	return results
}
