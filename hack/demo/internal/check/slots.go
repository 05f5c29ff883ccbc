// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// notice is how much later than the operator this program may see a change.
const notice = time.Second

// Slots: the first snapshot of each selected PVC is taken at once, the others
// one interval apart, and they go on as long as the PVC is there.
//
// A slot may be skipped for one reason only: one snapshot at a time is under
// way for a PVC, so while the storage needs longer than an interval for one,
// the next slots pass.
func Slots(w record.World, t Terms) Result {
	var wrong faults
	served, skipped := 0, 0
	for _, name := range t.Selected {
		claim := w.Claim(name)
		if claim == nil {
			wrong.add("%s has never been there", name)
			continue
		}
		s := series{Terms: t, claim: claim, snapshots: w.Series(name), wrong: &wrong}
		skipped += s.judge(w.Now)
		served += len(s.snapshots)
	}
	seen := fmt.Sprintf("%d slots served", served)
	if skipped > 0 {
		seen += fmt.Sprintf(", %d skipped while the storage was still busy with the one before", skipped)
	}
	expected := fmt.Sprintf("the first snapshot is for the time of its schedule, the next ones are exactly %s apart", seconds(t.Interval))
	return wrong.result("slots", expected, seen)
}

// series are the snapshots of one PVC by their slots.
type series struct {
	Terms
	claim     *record.Claim
	snapshots []record.Snapshot
	wrong     *faults
}

// anchor is the PVC's slot 0.
func (s *series) anchor() time.Time {
	if s.claim.Created.After(s.ScheduleCreated) {
		return s.claim.Created
	}
	return s.ScheduleCreated
}

// judge counts the slots that were skipped with reason.
func (s *series) judge(now time.Time) (skipped int) {
	if len(s.snapshots) == 0 {
		s.wrong.add("%s has no snapshot", s.claim.Name)
		return 0
	}
	if first := s.snapshots[0]; !first.Slot.Equal(s.anchor()) {
		s.wrong.add("the first of %s is for %s, not %s", s.claim.Name, clock(first.Slot), clock(s.anchor()))
	}
	for i := 1; i < len(s.snapshots); i++ {
		skipped += s.step(s.snapshots[i-1], s.snapshots[i])
	}
	newest := s.snapshots[len(s.snapshots)-1]
	late := now.Sub(newest.Slot) - 2*s.Interval
	if s.claim.Gone.IsZero() && late > 0 && !busyUntil(newest, now) {
		s.wrong.add("the newest of %s is for %s, %s ago", s.claim.Name, clock(newest.Slot), seconds(now.Sub(newest.Slot)))
	}
	return skipped
}

func (s *series) step(before, after record.Snapshot) (skipped int) {
	apart := after.Slot.Sub(before.Slot)
	switch {
	case apart == s.Interval:
		return 0
	case apart > 0 && apart%s.Interval == 0 && busyUntil(before, after.Slot):
		return int(apart/s.Interval) - 1
	}
	s.wrong.add("slots %s and %s of %s are %s apart", clock(before.Slot), clock(after.Slot), s.claim.Name, seconds(apart))
	return 0
}

// busyUntil tells whether a snapshot was under way until then, or nearly so:
// what this program and the operator see differs by a moment.
func busyUntil(s record.Snapshot, then time.Time) bool {
	return s.ReadyAt.IsZero() || s.ReadyAt.After(then.Add(-notice))
}
