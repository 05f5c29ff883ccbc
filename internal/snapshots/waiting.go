// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// judgePending keeps the slot that waits. One that waited until it was too old is a problem.
// What went wrong with a slot stays a problem until another create is tried, or there is a
// newer snapshot: nothing else says that the slot has none.
func (k *keyStatus) judgePending(before *keyStatus, outcome mapcontroller.Outcome) {
	if !k.untried(outcome) {
		k.pending = nil
		return
	}
	p := *k.pending // the decided one may be in use
	p.why = limits.Reason(outcome.Queued)
	k.pending = &p
	if p.late {
		k.pending = nil
		if before.pending != nil && before.pending.slot.Equal(p.slot) {
			message := droppedMessage + waitedMessage(before.pending.driver, before.pending.why) + guessText(before.pending.guessed)
			k.addIfNew(Problem{Reason: v1alpha1.ReasonSnapshotOverdue, Message: message})
		}
	}
	for _, p := range before.Problems {
		if p.ofSlot() {
			k.addIfNew(p)
		}
	}
}

// untried returns whether a slot has no snapshot, and no create was tried for it in a pass.
func (k *keyStatus) untried(outcome mapcontroller.Outcome) bool {
	return k.pending != nil && (k.pending.late || outcome.Queued != "")
}

// ofSlot returns whether a problem is that no snapshot could be created for a slot.
func (p Problem) ofSlot() bool {
	return p.Reason == v1alpha1.ReasonCreateFailed || p.Reason == v1alpha1.ReasonNameCollision ||
		isOverdue(p) && strings.HasPrefix(p.Message, droppedMessage)
}

// droppedMessage begins the message of a slot that became too old while it waited.
const droppedMessage = "a slot became too old while it waited: "

func isOverdue(p Problem) bool { return p.Reason == v1alpha1.ReasonSnapshotOverdue }

// waitedMessage says what a slot waits for.
func waitedMessage(d driver, why limits.Reason) string {
	of := "driver " + d.String()
	if d == "" {
		of = "unknown drivers"
	}
	switch why {
	case limits.Pending:
		return fmt.Sprintf("too many snapshots of %s are not ready yet, see annotation max-pending of its VolumeSnapshotClasses", of)
	case limits.VolumeLimit:
		return fmt.Sprintf("the volume has no place, see annotation max-per-volume of the VolumeSnapshotClasses of %s", of)
	case limits.Spacing:
		return fmt.Sprintf("the last snapshot is too recent, see annotation min-spacing of the VolumeSnapshotClasses of %s", of)
	}
	return fmt.Sprintf("too many snapshots of %s are not cut yet, see --max-in-flight-per-driver", of)
}

// WaitingMark is in the message of the condition Ready while snapshots wait until they may be created. The plugin looks for it.
const WaitingMark = " waiting (driver"

// waitingText counts the PVCs that wait.
func waitingText(sum combined) string {
	if sum.Waiting == 0 {
		return ""
	}
	drivers := " "
	if len(sum.WaitingFor) > 1 {
		drivers = "s "
	}
	return fmt.Sprintf(", %d%s%s%s)", sum.Waiting, WaitingMark, drivers, report.List(sum.WaitingFor, maxDrivers))
}
