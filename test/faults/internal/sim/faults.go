// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

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
		if o.alive && (o.keys.worker.busy || o.status.worker.busy) {
			return true
		}
	}
	return false
}

// Actions that the operator's informers do not see for hours: rare by chance, and what the guards before a delete are for.

func (sc *scenario) freezeForHours(k kube.Kind) {
	sc.freezeKind(k, between(sc.timingRand, time.Hour, 2*24*time.Hour))
}

// deleteScheduleUnseen deletes a schedule that has the operator's finalizer.
func (sc *scenario) deleteScheduleUnseen() {
	for _, name := range sc.schedules {
		s := sc.schedule(name)
		if s == nil || s.DeletionTimestamp != nil || !slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
			continue
		}
		sc.freezeForHours(kube.Schedules)
		sc.delete(kube.Schedules, name)
		return
	}
}

func (sc *scenario) editScheduleUnseen() {
	sc.freezeForHours(kube.Schedules)
	if oneIn(sc.actionRand, 3) {
		sc.breakSpec()
		return
	}
	sc.editSchedule()
}

// deleteStuck deletes the newest snapshots of a PVC whose driver is down: they stay, terminating, and count for nothing.
func (sc *scenario) deleteStuck() {
	name := pick(sc.actionRand, sc.claims...)
	sc.driver.modes[name] = down
	sc.deleteNewest(name)
}

// deleteSnapshotsUnseen deletes the newest snapshots of a PVC, which the operator still counts towards the floor.
func (sc *scenario) deleteSnapshotsUnseen() {
	sc.freezeForHours(kube.Snapshots)
	name := pick(sc.actionRand, sc.claims...)
	sc.deleteNewest(name)
}

func (sc *scenario) deleteNewest(claim string) {
	n := 1 + sc.actionRand.IntN(3)
	for _, o := range slices.Backward(sc.server.List(kube.Snapshots)) { // by name, and so by slot
		if n > 0 && strings.HasPrefix(o.GetName(), claim+"-") {
			sc.delete(kube.Snapshots, o.GetName())
			n--
		}
	}
}
