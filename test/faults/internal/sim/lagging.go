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
