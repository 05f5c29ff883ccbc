// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// Terms are all that decides which slot of a PVC is current.
type Terms struct {
	Timeline Timeline
	// Requested are the "run now" times, from the schedule and from the PVC.
	// Each is one more slot, truncated to seconds. One that is earlier than the
	// PVC's anchor is ignored.
	Requested []time.Time
	// Suspend takes the timeline away, but not what was requested.
	Suspend bool
	// TTL is spec.snapshotTTL: a slot that is as old is not due, as its
	// snapshot would have expired. 0: none.
	TTL time.Duration
	// StartingDeadline is how late a slot may still be taken. 0: none.
	StartingDeadline time.Duration
}

// Slots are the slots of a PVC as they stand at one time. Zero times mean none.
type Slots struct {
	// Current is the newest slot at or before now, if it may still be taken.
	// The PVC is due if no snapshot of its series serves it.
	Current time.Time
	// Until is when Current will be too old to be taken. Zero: never.
	Until time.Time
	// Next is the earliest slot to come.
	Next time.Time
	// Previous is the slot of the timeline before its latest. If no snapshot
	// serves it, then a whole interval has passed with none served: the PVC is
	// overdue. Zero while suspended.
	Previous time.Time
}

// At says which slots are current, next and previous at now.
func (t Terms) At(now time.Time) Slots {
	var s Slots
	if !t.Suspend {
		if latest, ok := t.Timeline.Latest(now); ok {
			s.Current = latest
			s.Previous, _ = t.Timeline.Previous(latest)
		}
		s.Next, _ = t.Timeline.Next(now)
	}
	for _, requested := range t.Requested {
		slot := requested.UTC().Truncate(time.Second)
		switch {
		case slot.Before(t.Timeline.anchor):
			// Asked for before this PVC was under this schedule.
		case slot.After(now):
			if s.Next.IsZero() || slot.Before(s.Next) {
				s.Next = slot
			}
		case slot.After(s.Current):
			s.Current = slot
		}
	}
	if limit := t.limit(); limit > 0 && !s.Current.IsZero() {
		// All older slots are too old as well, so that then none is due.
		if s.Until = s.Current.Add(limit); !now.Before(s.Until) {
			s.Current, s.Until = time.Time{}, time.Time{}
		}
	}
	return s
}

// limit is the age at which a slot can no longer be taken. 0: never.
func (t Terms) limit() time.Duration {
	if t.TTL > 0 && t.StartingDeadline > 0 {
		return min(t.TTL, t.StartingDeadline)
	}
	return max(t.TTL, t.StartingDeadline)
}
