// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// simulation is one simulated cluster: the API server, the operators and controllers that use it, and the one clock they share.
type simulation struct {
	timers timerQueue
	now    time.Time
	server *kube.Server
	// changes are the indexes in History.Changes of each kind's changes: what informers deliver.
	changes [3][]int
	history *history.History

	operators        []*operator
	driver           *driver
	garbageCollector *garbageCollector
	requestFaults    requestFaults
	clocks           clocks
	// statusInterval is the operators' option.
	statusInterval time.Duration
	// statusDelay is how much later than in the product key events wake the status controller.
	statusDelay time.Duration
	// stopped is set after too many requests: no operator is started again.
	stopped bool
	// reconciles counts all operators' reconciles.
	reconciles int

	// actionRand decides what happens in the cluster, timingRand how long things take and which requests fail. They are separate so
	// that a change of the operator's behavior changes less of a seed's run.
	actionRand, timingRand *rand.Rand
}

// startTime is when every simulation starts: a Tuesday, 26 days before Europe and 5 days before North America set their clocks forward.
var startTime = time.Date(2026, 3, 3, 9, 30, 0, 0, time.UTC)

func newSimulation(seed uint64) *simulation {
	sim := &simulation{
		now:        startTime,
		history:    &history.History{Began: startTime},
		actionRand: rand.New(rand.NewPCG(seed, 1)),
		timingRand: rand.New(rand.NewPCG(seed, 2)),
	}
	uids := rand.New(rand.NewPCG(seed, 3))
	sim.server = kube.NewServer(func() time.Time { return sim.now }, func() types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x",
			uids.Uint32(), uids.Uint32()&0xffff, uids.Uint32()&0xfff, uids.Uint32()&0xfff, uids.Uint64()&0xffffffffffff))
	})
	sim.server.OnCommit = sim.onCommit
	sim.driver = &driver{sim: sim, modes: map[string]mode{}}
	sim.garbageCollector = &garbageCollector{sim: sim, pending: map[types.UID]bool{}}
	return sim
}

// onCommit records a change and wakes everything that watches.
func (sim *simulation) onCommit(k kube.Kind, c history.Change) {
	if k == kube.Namespaces {
		return
	}
	sim.changes[k] = append(sim.changes[k], len(sim.history.Changes))
	sim.history.Changes = append(sim.history.Changes, c)
	for _, o := range sim.operators {
		if o.alive {
			o.informers[k].wake()
		}
	}
	sim.driver.observe(k, c)
	sim.garbageCollector.observe(k, c)
}

// after adds a timer that belongs to no operator.
func (sim *simulation) after(d time.Duration, run func()) { sim.timers.add(sim.now.Add(d), nil, run) }

// run runs the timers until a time. It is called again while a request of an operator travels: then the timers of that worker wait.
func (sim *simulation) run(until time.Time) {
	var waiting []timer
	for {
		t, ok := sim.timers.next(until)
		if !ok {
			break
		}
		if t.worker != nil && t.worker.busy {
			waiting = append(waiting, t)
			continue
		}
		if at := time.Unix(0, t.at).UTC(); at.After(sim.now) {
			sim.now = at
		}
		t.run()
	}
	if until.After(sim.now) {
		sim.now = until
	}
	for _, t := range waiting {
		sim.timers.putBack(t)
	}
}

// between draws a duration from [least, most).
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// oneIn returns true once in n times.
func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func must(err error) {
	if err != nil {
		panic(err)
	}
}
