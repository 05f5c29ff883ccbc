// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

func TestSlots(t *testing.T) {
	slow := func(w *record.World, ready time.Duration) {
		snapshot(w, "b", 4).ReadyAt = anchor.Add(ready)
		drop(w, snapshot(w, "b", 5))
	}
	try(t, func(w record.World) Result { return Slots(w, terms) },
		trial{"well", asItIs, ""},
		trial{"never there", func(w *record.World) { w.Claims = w.Claims[:1] }, "b has never been there"},
		trial{"nothing taken", func(w *record.World) { w.Snapshots = nil }, "a has no snapshot"},
		trial{"first missed", func(w *record.World) { drop(w, snapshot(w, "b", 0)) }, "the first of b is for 03:04:10, not 03:04:05"},
		trial{"one skipped", func(w *record.World) { drop(w, snapshot(w, "b", 5)) }, "of b are 10s apart"},
		trial{"one skipped by a slow storage", func(w *record.World) { slow(w, 30*time.Second) }, ""},
		trial{"one skipped although the storage was done", func(w *record.World) { slow(w, 28*time.Second) }, "of b are 10s apart"},
		trial{"one taken twice", func(w *record.World) {
			w.Snapshots = append(w.Snapshots, *snapshot(w, "b", 3))
		}, "of b are 0s apart"},
		trial{"off by a second", func(w *record.World) {
			s := snapshot(w, "b", 3)
			s.Slot = s.Slot.Add(time.Second)
		}, "of b are 6s apart"},
		trial{"no slot given", func(w *record.World) { snapshot(w, "b", 3).Slot = time.Time{} }, "the first of b is for (none)"},
		trial{"none any more", func(w *record.World) { w.Now = w.Now.Add(10 * time.Second) }, "the newest of a is for 03:04:35, 12s ago"},
		trial{"the newest is slow", func(w *record.World) {
			w.Now = w.Now.Add(10 * time.Second)
			snapshot(w, "a", 6).ReadyAt = time.Time{}
			snapshot(w, "b", 6).ReadyAt = time.Time{}
		}, ""},
		trial{"none any more, as the PVC is gone", func(w *record.World) {
			w.Claims[0].Gone, w.Claims[1].Gone = w.Now, w.Now
			w.Now = w.Now.Add(10 * time.Second)
		}, ""},
		trial{"a younger PVC has slots of its own", func(w *record.World) {
			w.Claims[1].Created = anchor.Add(time.Second)
			for i := range w.Snapshots {
				if s := &w.Snapshots[i]; s.Claim == "b" {
					s.Slot = s.Slot.Add(time.Second)
				}
			}
		}, ""},
	)
}

func TestCount(t *testing.T) {
	// One may be late by so much that six overlap; seven can't be explained.
	more := func(w *record.World, n int) {
		for range n {
			w.Snapshots = append(w.Snapshots, *snapshot(w, "b", 6))
		}
	}
	try(t, func(w record.World) Result { return Count(w, terms) },
		trial{"well", asItIs, ""},
		trial{"two more", func(w *record.World) { more(w, 2) }, ""},
		trial{"three more", func(w *record.World) { more(w, 3) }, "b had 7 at once"},
		trial{"none goes", func(w *record.World) {
			for i := range w.Snapshots {
				w.Snapshots[i].Deleted = time.Time{}
			}
		}, "a had 7 at once"},
	)
}
