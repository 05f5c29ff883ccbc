// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// crash kills an operator and schedules its restart.
func (sim *simulation) crash(o *operator) {
	o.kill()
	down := between(sim.timingRand, time.Second, time.Minute)
	if oneIn(sim.timingRand, 20) {
		down = between(sim.timingRand, time.Hour, 30*time.Hour)
	}
	sim.after(down, func() { sim.restart() })
}

// stop kills all operators for good.
func (sim *simulation) stop() {
	sim.stopped = true
	for _, o := range sim.operators {
		o.kill()
	}
}

// restart starts an operator if none runs.
func (sim *simulation) restart() {
	sim.removeDead()
	if len(sim.operators) == 0 && !sim.stopped {
		sim.start(sim.statusInterval, sim.listLag)
	}
}

// removeDead forgets the operators that have ended. It builds a new list: others may be iterating over the old one.
func (sim *simulation) removeDead() {
	sim.operators = slices.DeleteFunc(slices.Clone(sim.operators), func(o *operator) bool { return !o.alive })
}

// listLag draws by how many changes of a kind an operator's initial list is behind. Mostly none: an API server that lags is rare.
func (sim *simulation) listLag() int {
	if !sim.requestFaults.staleLists || oneIn(sim.timingRand, 2) {
		return 0
	}
	return sim.timingRand.IntN(12)
}

// startSecond starts a second operator beside the running one for a while, as happens when a lease is lost without being noticed.
func (sim *simulation) startSecond(d time.Duration) {
	if len(sim.operators) != 1 || sim.stopped {
		return
	}
	for _, i := range sim.operators[0].informers {
		if i.frozenUntil.After(sim.now) {
			return
		}
	}
	o := sim.start(sim.statusInterval, sim.listLag)
	sim.after(d, func() {
		if o.alive {
			o.kill()
			sim.restart()
		}
	})
}

// freezeAny freezes an informer, drawn for each operator.
func (sim *simulation) freezeAny(d time.Duration) {
	for _, o := range sim.operators {
		if i := pick(sim.timingRand, o.informers[:]...); o.alive {
			i.freeze(sim.boundFreeze(i.kind, d))
		}
	}
}

// freezeKind freezes all operators' informers of a kind.
func (sim *simulation) freezeKind(k kube.Kind, d time.Duration) {
	for _, o := range sim.operators {
		o.informers[k].freeze(sim.boundFreeze(k, d))
	}
}

// boundFreeze limits what a freeze costs: two operators with different views, or one whose status is refused every few seconds, send
// many requests and find nothing new.
func (sim *simulation) boundFreeze(k kube.Kind, d time.Duration) time.Duration {
	switch {
	case len(sim.operators) > 1:
		return min(d, 20*time.Second)
	case k == kube.Schedules:
		return min(d, 3*time.Hour)
	}
	return d
}

// stopFaults ends all faults of requests, clocks, informers and drivers, and leaves one operator.
func (sim *simulation) stopFaults() {
	sim.requestFaults, sim.statusDelay = requestFaults{}, 0
	sim.setClocks(0, 0)
	sim.driver.recover()
	sim.removeDead()
	for _, o := range sim.operators[min(1, len(sim.operators)):] {
		o.kill()
	}
	sim.restart()
	for _, o := range sim.operators {
		for _, i := range o.informers {
			i.frozenUntil, i.scheduled = time.Time{}, false
			i.wake()
		}
	}
}
