// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"strings"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
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

// counts returns the counts by label.
func (f *inFlight) counts() map[string]limits.Count {
	byLabel := map[string]limits.Count{metrics.OtherDrivers: {}}
	for _, o := range f.allClasses() {
		if d, _ := driverOfClass(o); driverNamed(string(d)) != "" {
			byLabel[string(d)] = limits.Count{}
		}
	}
	f.mu.Lock()
	counts := f.limits.Counts(f.clock.Now())
	f.mu.Unlock()
	for name, c := range counts {
		if _, isClass := byLabel[name]; !isClass || !f.classesKnown {
			name = metrics.OtherDrivers
		}
		sum := byLabel[name]
		byLabel[name] = limits.Count{InFlight: sum.InFlight + c.InFlight, Waiting: sum.Waiting + c.Waiting}
	}
	return byLabel
}

// shortage returns the problem of a group that found no room while its driver was reserved for it; without a reason, it has none.
func (f *inFlight) shortage(req limits.Request, d driver) Problem {
	f.mu.Lock()
	s, ok := f.limits.Shortage(req)
	f.mu.Unlock()
	if !ok {
		return Problem{}
	}
	limit := "max-in-flight"
	if s.Reason == limits.Pending {
		limit = "max-pending"
	}
	return Problem{Reason: v1alpha1.ReasonGroupWaits, Harmless: true, Message: fmt.Sprintf(
		"the group needs %d places, and found no room while driver %s was reserved for this namespace: "+
			"of the %d of %s, this namespace has %d, and others have %d", s.Needs, d, s.Size, limit, s.Own, s.Others)}
}
