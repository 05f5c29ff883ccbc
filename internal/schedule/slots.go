// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import "time"

// Criteria decide which slot of a PVC is current.
type Criteria struct {
	Timeline Timeline
	// Requested is the requested-at time of the schedule, if it is for the PVC; zero
	// is none. It is one more slot, truncated to seconds. A time before the PVC's
	// anchor is ignored.
	Requested time.Time
	// Taken is the newest slot that each of the PVCs of a group has a snapshot for under another
	// key: the first slot is the interval, or the next cron slot, after it. Zero: any of the timeline.
	Taken time.Time
	// Suspend disables the slots of the timeline, but not the requested ones.
	Suspend bool
	// TTL is spec.snapshotTTL. A slot of this age is not due, because its snapshot
	// would have expired. 0: no limit.
	TTL time.Duration
	// StartingDeadline is spec.startingDeadline: how late a slot may be taken.
	// 0: no limit.
	StartingDeadline time.Duration
}

// Slots are the slots of a PVC at one time. A zero time means that there is none.
type Slots struct {
	// Current is the newest slot at or before now, if it may still be taken. It is
	// due if no snapshot of the series covers it.
	Current time.Time
	// Until is when Current becomes too old to be taken. Zero: never.
	Until time.Time
	// Dropped is the newest slot at or before now, if it may not be taken any more.
	Dropped time.Time
	// Next is the earliest future slot.
	Next time.Time
	// Latest is the newest slot of the timeline at or before now, also if it may not
	// be taken any more. Zero while suspended.
	Latest time.Time
	// Previous is the second newest slot of the timeline at or before now. If no
	// snapshot covers it, a whole interval passed without a snapshot, and the PVC
	// is overdue. Zero while suspended.
	Previous time.Time
}

// At returns the slots at now.
func (c Criteria) At(now time.Time) Slots {
	var s Slots
	if !c.Suspend {
		if latest, ok := c.Timeline.Latest(now); ok {
			s.Current, s.Latest = latest, latest
			s.Previous, _ = c.Timeline.Previous(latest)
		}
		s.Next, _ = c.Timeline.Next(now)
		c.await(&s, now)
	}
	switch requested := c.Requested.UTC().Truncate(time.Second); {
	case c.Requested.IsZero(), requested.Before(c.Timeline.requests):
		// None, or requested before the schedule applied to this PVC.
	case requested.After(now):
		if s.Next.IsZero() || requested.Before(s.Next) {
			s.Next = requested
		}
	case requested.After(s.Current):
		s.Current = requested
	}
	if limit := c.maxAge(); limit > 0 && !s.Current.IsZero() {
		// If Current is too old, all earlier slots are too, and none is due.
		if s.Until = s.Current.Add(limit); !now.Before(s.Until) {
			s.Dropped, s.Current, s.Until = s.Current, time.Time{}, time.Time{}
		}
	}
	return s
}

// await leaves out the slots that are not due because of Taken. The wait ends with a slot of its own: the one of the grid before it may be
// too old by then to be taken.
func (c Criteria) await(s *Slots, now time.Time) {
	if c.Taken.IsZero() {
		return
	}
	due, ok := c.Timeline.following(c.Taken)
	switch {
	case !ok:
	case now.Before(due):
		*s = Slots{Next: due}
	case !s.Latest.After(due):
		s.Current, s.Latest, s.Previous = due, due, time.Time{}
	case s.Previous.Before(due):
		s.Previous = due
	}
}

// maxAge returns the age at which a slot is no longer taken; 0 is never.
func (c Criteria) maxAge() time.Duration {
	if c.TTL > 0 && c.StartingDeadline > 0 {
		return min(c.TTL, c.StartingDeadline)
	}
	return max(c.TTL, c.StartingDeadline)
}
