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

// settled returns a status with what became of its slot in the writes of a pass. If nothing was decided because that panicked,
// what was known of the PVC stays.
func settled(before, decided *keyStatus, outcome mapcontroller.Outcome) *keyStatus {
	var k *keyStatus
	switch {
	case decided != nil:
		k = decided.clone() // status is computed from the decided one meanwhile
	case outcome.Err != nil:
		k = before.clone()
		k.Problems, k.pending, k.overdue = nil, nil, false
	default:
		k = &keyStatus{}
	}
	k.created, k.reported = len(outcome.Created) > 0, true
	k.due = k.due || k.waits() && !k.created
	if !k.untried(outcome) {
		k.pending = nil
		return k
	}
	p := *k.pending
	p.why = limits.Reason(outcome.Queued)
	k.pending = &p
	return k
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

// waitsFor says what a slot waits for.
func (p *pendingSlot) waitsFor() (text string) {
	of := "driver " + p.driver.String()
	if p.driver == "" {
		of = "unknown drivers"
	}
	switch p.why {
	case limits.Pending:
		text = fmt.Sprintf("too many snapshots of %s are not ready yet, see annotation max-pending of its VolumeSnapshotClasses", of)
	case limits.VolumeLimit:
		text = fmt.Sprintf("the volume has reached its limit, see annotation max-per-volume of the VolumeSnapshotClasses of %s", of)
	case limits.Spacing:
		text = fmt.Sprintf("the last snapshot is too recent, see annotation min-spacing of the VolumeSnapshotClasses of %s", of)
	default:
		text = fmt.Sprintf("too many snapshots of %s are not cut yet, see --max-in-flight-per-driver", of)
	}
	return text + guessText(p.guessed)
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
		"the group needs %d places, but found no room while driver %s was reserved for this namespace: "+
			"of %d (%s), this namespace uses %d and others use %d; to list those of this namespace: kubectl snapsched list -n '%s'",
		s.Needs, d, s.Size, limit, s.Own, s.Others, req.Parent.Namespace)}
}
