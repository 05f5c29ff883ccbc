// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import "time"

// The scenario's faults: of drivers, requests, informers, processes and clocks.

func (sc *scenario) breakDriver() {
	sc.driver.modes[pick(sc.actionRand, sc.claims...)] = mode(sc.actionRand.IntN(int(modes)))
}

func (sc *scenario) repairDrivers() {
	if oneIn(sc.actionRand, 2) {
		clear(sc.driver.modes)
		return
	}
	delete(sc.driver.modes, pick(sc.actionRand, sc.claims...))
}

func (sc *scenario) setRequestFaults() {
	sc.requestFaults = requestFaults{
		crashes:    pick(sc.actionRand, 0, 0, 4, 30),
		refusals:   pick(sc.actionRand, 0, 2, 6, 20),
		lost:       pick(sc.actionRand, 0, 4, 20),
		delays:     pick(sc.actionRand, 0, 2, 10),
		staleLists: oneIn(sc.actionRand, 2),
	}
}

func (sc *scenario) stopRequestFaults() { sc.requestFaults = requestFaults{} }

func (sc *scenario) freezeInformer() {
	sc.freezeAny(pick(sc.actionRand, between(sc.timingRand, time.Second, time.Minute),
		between(sc.timingRand, time.Minute, 3*time.Hour), between(sc.timingRand, time.Hour, 2*24*time.Hour)))
}

func (sc *scenario) crashOperator() {
	for _, o := range sc.operators {
		if o.alive {
			sc.crash(o)
			return
		}
	}
}

func (sc *scenario) startSecondOperator() {
	sc.startSecond(between(sc.actionRand, time.Minute, 90*time.Minute))
}

// moveClocks moves the operators' clock or the Date header for a while: by so little that it must be tolerated, or by so much that
// nothing may be deleted.
func (sc *scenario) moveClocks() {
	if sc.busy() {
		sc.later(10*time.Second, sc.moveClocks) // a jump between a delete's guards and the delete is out of scope
		return
	}
	const day = 24 * time.Hour
	off := pick(sc.actionRand, 20*time.Second, -20*time.Second, 40*time.Second, -40*time.Second, 5*time.Minute, -5*time.Minute,
		2*time.Hour, -2*time.Hour, day, -day, 3650*day, -3650*day)
	if oneIn(sc.actionRand, 3) {
		sc.setClocks(0, off)
	} else {
		sc.setClocks(off, 0)
	}
	sc.later(between(sc.actionRand, time.Minute, 2*day), sc.resetClocks)
}

func (sc *scenario) resetClocks() {
	if sc.busy() {
		sc.later(10*time.Second, sc.resetClocks)
		return
	}
	sc.setClocks(0, 0)
}

// busy returns whether a worker of any operator waits for an answer.
func (sim *simulation) busy() bool {
	for _, o := range sim.operators {
		if o.alive && (o.keys.worker.busy || o.status.worker.busy || o.releases.worker.busy) {
			return true
		}
	}
	return false
}
