// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"time"

	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// Expiry: no snapshot went before its TTL, and none stays long after it.
// Deletion and creation are both by the API server's clock. It judges the time
// while the schedule is there: garbage collection does not wait for a TTL.
func Expiry(w record.World, t Terms) Result {
	var wrong faults
	var longest time.Duration
	shortest, went := time.Duration(1<<62), 0
	for i := range w.Snapshots {
		s := &w.Snapshots[i]
		from, falls := due(w, t, s)
		overdue := falls && end(w, s).Sub(from) > Grace
		if s.Deleted.IsZero() {
			if overdue {
				wrong.add("%s is still there after %s", s.Name, seconds(w.Now.Sub(s.Created)))
			}
			continue
		}
		lived := s.Deleted.Sub(s.Created)
		switch {
		case lived < t.TTL && !obsolete(w, s):
			wrong.add("%s went after %s", s.Name, seconds(lived))
		case overdue:
			wrong.add("%s went after %s only", s.Name, seconds(lived))
		}
		went++
		shortest, longest = min(shortest, lived), max(longest, lived)
	}
	seen := "none has gone yet"
	if went > 0 {
		seen = fmt.Sprintf("%d went, the youngest %s old, the oldest %s", went, seconds(shortest), seconds(longest))
	}
	return wrong.result("expiry", fmt.Sprintf("each snapshot stays for %s, and goes soon after", seconds(t.TTL)), seen)
}

// end is when a snapshot was deleted, or now.
func end(w record.World, s *record.Snapshot) time.Time {
	if s.Deleted.IsZero() {
		return w.Now
	}
	return s.Deleted
}

// due is when a snapshot has to go: when it is of age, and no more needed as
// the newest ready one of a PVC that is there. One that the storage is still
// busy with is not due at all.
func due(w record.World, t Terms, s *record.Snapshot) (time.Time, bool) {
	if s.ReadyAt.IsZero() {
		return time.Time{}, false
	}
	var released time.Time
	release := func(at time.Time) {
		if !at.IsZero() && (released.IsZero() || at.Before(released)) {
			released = at
		}
	}
	for _, later := range w.Series(s.Claim) {
		if later.Slot.After(s.Slot) {
			release(later.ReadyAt)
		}
	}
	if claim := w.Claim(s.Claim); claim != nil {
		release(claim.Gone)
	}
	if released.IsZero() {
		return time.Time{}, false
	}
	if ofAge := s.Created.Add(t.TTL); ofAge.After(released) {
		return ofAge, true
	}
	return released, true
}

// obsolete: a snapshot that the storage had not cut when its PVC went is
// deleted at once, as it could only be cut from nothing.
func obsolete(w record.World, s *record.Snapshot) bool {
	claim := w.Claim(s.Claim)
	return !s.Cut && claim != nil && !claim.Gone.IsZero()
}

// Outlive: the snapshots of a PVC that has gone are still there, but for those
// that are of age.
func Outlive(w record.World, t Terms, claim string) Result {
	var wrong faults
	stay := 0
	if c := w.Claim(claim); c == nil || c.Gone.IsZero() {
		wrong.add("%s is still there", claim)
	}
	for _, s := range w.Series(claim) {
		switch {
		case s.Live():
			stay++
		case s.Deleted.Sub(s.Created) < t.TTL && !obsolete(w, &s):
			wrong.add("%s went after %s", s.Name, seconds(s.Deleted.Sub(s.Created)))
		}
	}
	if stay == 0 {
		wrong.add("none is left")
	}
	return wrong.result("outlive", claim+" is gone; its snapshots stay until they are of age", fmt.Sprintf("%d are there", stay))
}

// AllGone: no snapshot of a PVC is left.
func AllGone(w record.World, claim string) Result {
	var wrong faults
	if left := len(w.There(claim)); left > 0 {
		wrong.add("%d are left", left)
	}
	return wrong.result("detached-gone", "of age, the snapshots of "+claim+" have gone", fmt.Sprintf("all %d", len(w.Series(claim))))
}
