// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"slices"
	"time"
)

// Decision is what is done with a series.
type Decision struct {
	// Take is whether a snapshot is taken for Series.Slot.
	Take Take
	// Verdicts are in the order of Series.Snapshots.
	Verdicts []Verdict
	// Floor are the indexes of the ready snapshots that the deletes depend on:
	// nothing may be deleted unless these still exist and are ready. They are the
	// newest minReady ready snapshots, or all if there are fewer, newest first. If
	// that is none, a Superseded verdict adds the ready snapshot it depends on. The newest
	// minVerified verified ones follow, as far as they are not among these.
	Floor []int
	// Elsewhere are the indexes of the GroupSeries.Elsewhere that the deletes depend on, in the same way.
	Elsewhere []int
	// Next is the earliest time after now at which the passing of time alone may
	// change the decision or the State of a snapshot. Zero: never.
	Next time.Time
}

// Decide decides for every snapshot of a series whether it is kept or deleted,
// and whether a snapshot is taken for the series' slot. Holds come first, then
// age and tiers, then the cap; the floor overrides age, tiers and cap, and so do
// the newest verified snapshots.
//
// A snapshot that is deleted at one time is deleted at every later time, if only
// time passes, with these exceptions: if now passes a driver's creation time or a
// scheduled-at, a snapshot becomes younger or changes its place; if it passes the time
// of a drill, another snapshot may be verified; the cap goes by slots, which need not be
// in the order of ages; and once an error is too old to pass, another snapshot may be
// spared in place of the one that had it.
func Decide(policy Policy, now time.Time, series Series) Decision {
	d := decide(policy, now, series)
	d.spareRecovering(policy, now, series)
	d.keepVerified(policy, now, series)
	return d
}

func decide(policy Policy, now time.Time, series Series) Decision {
	e := evaluation{
		limits:        policy.limitsFor(series.Claim),
		readyDeadline: policy.ReadyDeadline,
		now:           now,
		series:        series,
		order:         newestFirst(series.Snapshots, now),
		verdicts:      make([]Verdict, len(series.Snapshots)),
		ready:         make([]int, 0, len(series.Snapshots)),
		newest:        -1,
	}
	take := e.decideTake()
	for _, r := range e.order {
		snapshot := &series.Snapshots[r.index]
		if e.newest < 0 && !snapshot.Deleting && !snapshot.covers(now).IsZero() {
			e.newest = r.index
		}
		e.verdicts[r.index] = e.verdictAlone(r.index, take.Due)
		if snapshot.IsReady() {
			e.ready = append(e.ready, r.index)
			e.readyFollowed = e.readyFollowed || !snapshot.Imported
		}
	}
	e.selectTiers(policy.Location, policy.slotTolerance())
	e.enforceCap()
	floor := e.enforceFloor()
	if reference := e.supersede(); reference >= 0 && len(floor) == 0 {
		floor = append(floor, reference)
	}
	if take.Due && series.VolumeFull {
		e.makePlace()
	}
	if series.ClaimDeleting {
		e.freeClaim()
	}
	return Decision{Take: take, Verdicts: e.verdicts, Floor: floor, Next: e.nextChange()}
}

// evaluation is the state of one call of Decide.
type evaluation struct {
	limits
	readyDeadline time.Duration
	now           time.Time
	series        Series
	order         []ranked
	verdicts      []Verdict
	// ready are the indexes of the ready snapshots, newest first.
	ready []int
	// readyFollowed is set once a ready snapshot was passed that was not imported.
	readyFollowed bool
	// newest is the index of the newest snapshot that covers a slot and is not
	// terminating, or -1.
	newest int
}

// verdictAlone returns the verdict on one snapshot before tiers, cap and floor
// are applied. It is called for the newest snapshot first, so that readyFollowed
// is about those that are newer than snapshot i.
func (e *evaluation) verdictAlone(i int, due bool) Verdict {
	s := &e.series.Snapshots[i]
	claimGone := e.series.Claim == Gone || e.series.ClaimDeleting
	// A cut snapshot without an error may be a slow upload, which no age limit
	// interrupts. But snapshots are taken one at a time: if a ready one followed,
	// this one was ready itself or failed.
	inProgress := s.State(e.now, e.readyDeadline) == InProgress && (s.Uncut() || !e.readyFollowed)
	switch {
	case s.Deleting:
		return BeingDeleted
	// What has no data is not held: it would only stop the next one, or keep its PVC.
	case !s.Uncut() && e.now.Before(s.HeldUntil):
		return HeldByAnnotation
	case !s.Uncut() && s.Restoring:
		return HeldByRestore
	case s.Uncut() && claimGone:
		return ClaimGone
	case inProgress:
		return HeldInProgress
	case s.Uncut() && due:
		return Replaced
	}
	return e.verdictByAge(i)
}

// verdictByAge returns the verdict on a snapshot that is not held, replaced or
// deleted with its PVC.
func (e *evaluation) verdictByAge(i int) Verdict {
	switch {
	case e.ttl > 0 && e.now.Before(e.expiresAt(i)):
		return WithinTTL
	case e.ttl > 0:
		return Expired
	case !e.series.Snapshots[i].ReadyToUse:
		return Unready
	case e.keep == Tiers{}:
		return NoLimit
	case e.coversSlot(i):
		return KeptNewest // unless a tier selects it
	default:
		return NotSelected // unless a tier selects it
	}
}

// coversSlot reports whether a snapshot is the newest of a selected PVC. Without
// it the slot that it covers would be due again.
func (e *evaluation) coversSlot(i int) bool { return i == e.newest && e.series.Claim == Selected }

// expiresAt returns when the age of a snapshot reaches the TTL, which must be
// set. The newest snapshot of a selected PVC does not expire before its slot:
// otherwise the slot would be due again for as long as the API server's clock,
// which stamps creations in whole seconds, is behind the local one.
func (e *evaluation) expiresAt(i int) time.Time {
	base := e.ageBase(i)
	if e.coversSlot(i) {
		if slot := e.series.Snapshots[i].Slot(e.now); slot.After(base) {
			base = slot
		}
	}
	return base.Add(e.ttl)
}

func (e *evaluation) ageBase(i int) time.Time { return e.series.Snapshots[i].AgeBase(e.now) }

// nextChange returns Decision.Next. Tiers, cap and floor change only when one of
// the times below is reached.
func (e *evaluation) nextChange() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(e.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	at(e.series.Slot) // due from then on
	for i := range e.series.Snapshots {
		s := &e.series.Snapshots[i]
		if !s.ScheduledAt.IsZero() {
			at(s.ScheduledAt) // from then on it is the snapshot's slot
		}
		at(s.VerifiedAt) // from then on they count
		at(s.VerifyFailedAt)
		if s.Deleting {
			continue
		}
		if !s.HeldUntil.Equal(Forever) {
			at(s.HeldUntil)
		}
		if e.ttl > 0 {
			at(e.expiresAt(i))
		}
		if s.HasCutTime {
			at(s.CutTime) // from then on age counts from it
		}
		if !s.ReadyToUse && !s.Imported {
			at(s.Created.Add(e.readyDeadline))
		}
		if s.HasError && !s.ReadyToUse {
			at(s.ErrorTime.Add(e.readyDeadline)) // until then it may recover
		}
	}
	return next
}

// ranked is a snapshot in the order of its series. It carries the slot because
// comparing it is most of the work of sorting.
type ranked struct {
	slot  int64 // Unix seconds
	index int
}

// newestFirst sorts the snapshots of a series, the newest first.
func newestFirst(snapshots []Snapshot, now time.Time) []ranked {
	order := make([]ranked, len(snapshots))
	for i := range snapshots {
		order[i] = ranked{slot: snapshots[i].Slot(now).Unix(), index: i}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		if a.slot != b.slot {
			return cmp.Compare(b.slot, a.slot)
		}
		return compareAge(&snapshots[b.index], &snapshots[a.index], now)
	})
	return order
}
