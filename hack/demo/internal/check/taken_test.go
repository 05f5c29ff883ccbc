// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

func TestBound(t *testing.T) {
	try(t, func(w record.World) Result { return Bound(w, "a", "b", "other") },
		trial{"well", asItIs, ""},
		trial{"pending", func(w *record.World) { w.Claims[1].Bound = false }, "b is not bound"},
		trial{"gone", func(w *record.World) { w.Claims[1].Gone = w.Now }, "b is not there"},
		trial{"missing", func(w *record.World) { w.Claims = w.Claims[:2] }, "other is not there"},
		trial{"one too many", func(w *record.World) {
			w.Claims = append(w.Claims, record.Claim{Name: "more"})
		}, "more should not be there"},
	)
}

func TestReady(t *testing.T) {
	try(t, func(w record.World) Result { return Ready(w, terms, 3) },
		trial{"well", asItIs, ""},
		trial{"too few ever", func(w *record.World) {
			for i := range w.Snapshots {
				if s := &w.Snapshots[i]; s.Claim == "b" && i%7 > 1 {
					s.ReadyAt = time.Time{}
				}
			}
		}, "b has had 2"},
		trial{"none now", func(w *record.World) {
			for i := range w.Snapshots {
				w.Snapshots[i].Ready = w.Snapshots[i].Claim != "b"
			}
		}, "b has had 7 ready ones and has 0 now"},
		trial{"no snapshots", func(w *record.World) { w.Snapshots = nil }, "a has had 0"},
	)
}

func TestExpired(t *testing.T) {
	try(t, func(w record.World) Result { return Expired(w, terms, 2) },
		trial{"well", asItIs, ""},
		trial{"the oldest stays, younger ones go", func(w *record.World) {
			snapshot(w, "b", 0).Gone = time.Time{}
		}, "of b, 0 have gone"},
		trial{"one only", func(w *record.World) { snapshot(w, "b", 1).Gone = time.Time{} }, "of b, 1 have gone"},
	)
}

func TestOwned(t *testing.T) {
	try(t, func(w record.World) Result { return Owned(w, terms) },
		trial{"well", asItIs, ""},
		trial{"not selected", func(w *record.World) { snapshot(w, "b", 5).Claim = "other" }, "is of other"},
		trial{"not selected, and gone", func(w *record.World) { snapshot(w, "b", 0).Claim = "other" }, "is of other"},
		trial{"map key", func(w *record.World) { snapshot(w, "b", 5).MapKey = "uid-a" }, `map key "uid-a"`},
		trial{"owner", func(w *record.World) { snapshot(w, "b", 5).Owner = "someone" }, "not controlled by the schedule"},
	)
}

func TestUnique(t *testing.T) {
	try(t, Unique,
		trial{"well", asItIs, ""},
		trial{"a name twice", func(w *record.World) { snapshot(w, "b", 5).Name = snapshot(w, "a", 5).Name }, "was given twice"},
		trial{"a slot twice", func(w *record.World) {
			again := *snapshot(w, "b", 5)
			again.Name += "-again"
			w.Snapshots = append(w.Snapshots, again)
		}, "are of the same slot"},
	)
}

func TestNoneSince(t *testing.T) {
	leave := func(w *record.World) { w.Claims[1].Gone = anchor.Add(31 * time.Second) }
	try(t, func(w record.World) Result { return NoneSince(w, "b") },
		trial{"well", leave, ""},
		trial{"still there", asItIs, "b is still there"},
		trial{"one more", func(w *record.World) {
			w.Claims[1].Gone = anchor.Add(29 * time.Second)
		}, "was taken 1s after that"},
	)
}

func TestEmpty(t *testing.T) {
	empty := func(w *record.World) {
		for i := range w.Snapshots {
			w.Snapshots[i].Gone = w.Now
		}
		w.Contents = 0
	}
	try(t, Empty,
		trial{"well", empty, ""},
		trial{"a snapshot", func(w *record.World) { empty(w); w.Snapshots[0].Gone = time.Time{} }, "1 VolumeSnapshots"},
		trial{"a content", func(w *record.World) { empty(w); w.Contents = 1 }, "1 VolumeSnapshotContents"},
	)
}
