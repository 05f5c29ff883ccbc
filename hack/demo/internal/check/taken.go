// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"slices"
	"strings"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// Ready: each selected PVC has a usable snapshot, and has had so many ready ones.
func Ready(w record.World, t Terms, atLeast int) Result {
	var wrong faults
	var have []string
	for _, claim := range t.Selected {
		ever := 0
		for _, s := range w.Series(claim) {
			if !s.ReadyAt.IsZero() {
				ever++
			}
		}
		usable := len(w.Usable(claim))
		if ever < atLeast || usable == 0 {
			wrong.add("%s has had %d ready ones and has %d now", claim, ever, usable)
		}
		have = append(have, fmt.Sprintf("%s %d", claim, usable))
	}
	expected := fmt.Sprintf("every selected PVC has ready snapshots, and has had at least %d", atLeast)
	return wrong.result("ready-snapshots", expected, "ready now: "+strings.Join(have, ", "))
}

// Expired: the oldest of each selected PVC have gone.
func Expired(w record.World, t Terms, atLeast int) Result {
	var wrong faults
	total := 0
	for _, claim := range t.Selected {
		gone := 0
		for _, s := range w.Series(claim) {
			if s.Gone.IsZero() {
				break
			}
			gone++
		}
		if gone < atLeast {
			wrong.add("of %s, %d have gone", claim, gone)
		}
		total += gone
	}
	expected := fmt.Sprintf("of every selected PVC at least the oldest %d have gone", atLeast)
	return wrong.result("oldest-expired", expected, fmt.Sprintf("%d in all", total))
}

// Owned: every snapshot belongs to a selected PVC, carries its UID as the map
// key, and is controlled by the schedule.
func Owned(w record.World, t Terms) Result {
	var wrong faults
	for i := range w.Snapshots {
		s := &w.Snapshots[i]
		claim := w.Claim(s.Claim)
		switch {
		case !slices.Contains(t.Selected, s.Claim):
			wrong.add("%s is of %s, which is not selected", s.Name, s.Claim)
		case claim == nil || s.MapKey != string(claim.UID):
			wrong.add("%s has map key %q, which is not the UID of %s", s.Name, s.MapKey, s.Claim)
		case s.Owner != t.ScheduleUID && s.Live():
			wrong.add("%s is not controlled by the schedule", s.Name)
		}
	}
	expected := "only selected PVCs are snapshotted; each snapshot has its PVC's UID as map key and the schedule as controller"
	return wrong.result("owned", expected, fmt.Sprintf("all %d", len(w.Snapshots)))
}

// Unique: no name is given twice, and no slot of a PVC is taken twice.
func Unique(w record.World) Result {
	var wrong faults
	names, slots := map[string]bool{}, map[string]string{}
	for _, s := range w.Snapshots {
		if names[s.Name] {
			wrong.add("the name %s was given twice", s.Name)
		}
		names[s.Name] = true
		slot := fmt.Sprint(s.MapKey, s.Slot.Unix())
		if other, taken := slots[slot]; taken {
			wrong.add("%s and %s are of the same slot", other, s.Name)
		}
		slots[slot] = s.Name
	}
	seen := fmt.Sprintf("%d snapshots, %d names, %d slots", len(w.Snapshots), len(names), len(slots))
	return wrong.result("unique", "no name is given twice, and no slot of a PVC taken twice", seen)
}

// NoneSince: no snapshot was taken of a PVC once it had gone.
func NoneSince(w record.World, claim string) Result {
	var wrong faults
	if c := w.Claim(claim); c == nil || c.Gone.IsZero() {
		wrong.add("%s is still there", claim)
	} else {
		for _, s := range w.Series(claim) {
			// Not "after or equal": its creationTimestamp is in whole seconds.
			if s.Created.After(c.Gone) {
				wrong.add("%s was taken %s after that", s.Name, seconds(s.Created.Sub(c.Gone)))
			}
		}
	}
	return wrong.result("none-since", "no snapshot was taken of "+claim+" after it had gone", fmt.Sprintf("%d before", len(w.Series(claim))))
}
