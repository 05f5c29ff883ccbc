// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

func TestExpiry(t *testing.T) {
	undelete := func(s *record.Snapshot) { s.Deleted, s.Gone = time.Time{}, time.Time{} }
	try(t, func(w record.World) Result { return Expiry(w, terms) },
		trial{"well", asItIs, ""},
		trial{"none yet", func(w *record.World) { *w = wellAt(10 * time.Second) }, ""},
		trial{"one went early", func(w *record.World) {
			s := snapshot(w, "b", 2)
			s.Deleted = s.Deleted.Add(-time.Second)
		}, "went after 19s"},
		trial{"one stays", func(w *record.World) {
			w.Now = w.Now.Add(5 * time.Second)
			undelete(snapshot(w, "b", 0))
		}, "is still there after 37s"},
		trial{"one stays, but not for long yet", func(w *record.World) { undelete(snapshot(w, "b", 0)) }, ""},
		trial{"one went late", func(w *record.World) {
			s := snapshot(w, "b", 0)
			s.Deleted = anchor.Add(36 * time.Second)
		}, "went after 36s only"},
		trial{"the newest ready one stays, however old", func(w *record.World) {
			w.Snapshots = w.Snapshots[:1]
			undelete(&w.Snapshots[0])
			w.Now = w.Now.Add(time.Hour)
		}, ""},
		trial{"the newest ready one goes some time after its PVC", func(w *record.World) {
			w.Snapshots = w.Snapshots[:1]
			undelete(&w.Snapshots[0])
			w.Now = w.Now.Add(time.Hour)
			w.Claims[0].Gone = w.Now.Add(-14 * time.Second)
		}, ""},
		trial{"the newest ready one outlives its PVC for too long", func(w *record.World) {
			w.Snapshots = w.Snapshots[:1]
			undelete(&w.Snapshots[0])
			w.Now = w.Now.Add(time.Hour)
			w.Claims[0].Gone = w.Now.Add(-16 * time.Second)
		}, "is still there after 3632s"},
		trial{"a slow one is never too old", func(w *record.World) {
			w.Now = w.Now.Add(5 * time.Second)
			s := snapshot(w, "b", 0)
			undelete(s)
			s.ReadyAt, s.Ready = time.Time{}, false
		}, ""},
		trial{"an uncut one goes with its PVC", func(w *record.World) {
			s := snapshot(w, "b", 6)
			s.Deleted, s.Cut = w.Now, false
			w.Claims[1].Gone = w.Now
		}, ""},
		trial{"an uncut one goes although its PVC is there", func(w *record.World) {
			s := snapshot(w, "b", 6)
			s.Deleted, s.Cut = w.Now, false
		}, "went after 2s"},
	)
}

func TestOutlive(t *testing.T) {
	leave := func(w *record.World) { w.Claims[1].Gone = w.Now }
	try(t, func(w record.World) Result { return Outlive(w, terms, "b") },
		trial{"well", leave, ""},
		trial{"still there", asItIs, "b is still there"},
		trial{"one goes with the PVC", func(w *record.World) {
			leave(w)
			snapshot(w, "b", 5).Deleted = w.Now
		}, "went after 7s"},
		trial{"an uncut one goes with the PVC", func(w *record.World) {
			leave(w)
			s := snapshot(w, "b", 6)
			s.Deleted, s.Cut = w.Now, false
		}, ""},
		trial{"all are of age", func(w *record.World) {
			leave(w)
			for i := range w.Snapshots {
				s := &w.Snapshots[i]
				s.Deleted = s.Created.Add(terms.TTL)
			}
		}, "none is left"},
	)
}

func TestAllGone(t *testing.T) {
	leave := func(w *record.World) {
		for i := range w.Snapshots {
			w.Snapshots[i].Gone = w.Now
		}
	}
	try(t, func(w record.World) Result { return AllGone(w, "b") },
		trial{"well", leave, ""},
		trial{"one is left", func(w *record.World) {
			leave(w)
			s := snapshot(w, "b", 5)
			s.Gone, s.Deleted = time.Time{}, w.Now // on its way only
		}, "1 are left"},
	)
}
