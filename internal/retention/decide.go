// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"cmp"
	"slices"
	"time"
)

// Decision is what becomes of the snapshots of a series.
type Decision struct {
	// Verdicts in the order of Series.Snapshots.
	Verdicts []Verdict
	// Floor are the indexes of the ready snapshots on which the deletes rest:
	// none may be deleted unless these are still there and ready. They are the
	// newest minReady ready ones, or as many as there are, newest first; where
	// there are none, the one that a Superseded verdict was measured by.
	Floor []int
	// Next is the earliest time after now at which time alone may change a
	// verdict or a State; nothing changes before it. Zero: never.
	Next time.Time
}

// Decide says for every snapshot of a series whether it is kept, and why: held,
// then age and tiers, then the cap, and over age, tiers and cap the floor.
//
// What it deletes at one time it deletes at every later time, all else being
// equal, with two provisos: no driver's creation time and no scheduled-at lies
// between the two times (passing one makes a snapshot younger, or changes its
// place), and with a cap, ages go by the order of slots.
func Decide(p Policy, now time.Time, s Series) Decision {
	d := decider{
		limits:        p.limits(s.Claim),
		readyDeadline: p.ReadyDeadline,
		now:           now,
		series:        s,
		verdicts:      make([]Verdict, len(s.Snapshots)),
		ready:         make([]int, 0, len(s.Snapshots)),
		newest:        -1,
	}
	for _, r := range newestFirst(s.Snapshots, now) {
		snapshot := &s.Snapshots[r.index]
		if d.newest < 0 && !snapshot.Deleting {
			d.newest = r.index
		}
		d.verdicts[r.index] = d.judge(r.index)
		if snapshot.Ready() {
			d.ready = append(d.ready, r.index)
		}
	}
	d.selectTiers(p.Location)
	d.enforceCap()
	d.enforceFloor()
	return Decision{Verdicts: d.verdicts, Floor: d.supersede(), Next: d.next()}
}

// decider is one call of Decide.
type decider struct {
	limits
	readyDeadline time.Duration
	now           time.Time
	series        Series
	verdicts      []Verdict
	// ready are the indexes of the ready snapshots, newest first.
	ready []int
	// newest is the index of the newest snapshot that is not terminating, or -1.
	newest int
}

// judge is the verdict on one snapshot alone, before tiers, cap and floor have
// their say. Snapshots are judged newest first, so that d.ready holds the newer
// ready ones.
func (d *decider) judge(i int) Verdict {
	s := &d.series.Snapshots[i]
	claimGoes := d.series.Claim == Gone || d.series.ClaimDeleting
	// A cut snapshot without an error may be a slow upload, which is never cut
	// off by age. But snapshots are taken one at a time: one that is followed
	// by a ready one was ready itself or failed, and has no such claim.
	underWay := s.State(d.now, d.readyDeadline) == UnderWay && (s.Uncut() || len(d.ready) == 0)
	switch {
	case s.Deleting:
		return IsTerminating
	case s.Hold == HeldByAnnotation:
		return HeldAnnotation
	case s.Hold == HeldByRestore:
		return HeldRestore
	case s.Uncut() && claimGoes:
		return ClaimGone
	case underWay:
		return HeldUnderWay
	case s.Uncut() && d.series.SlotDue && d.series.Claim == Selected:
		return Replaced
	}
	return d.judgeByAge(i)
}

// judgeByAge is the verdict on a snapshot that nothing holds and nothing drives
// away.
func (d *decider) judgeByAge(i int) Verdict {
	switch {
	case d.ttl > 0 && d.now.Before(d.expiry(i)):
		return WithinTTL
	case d.ttl > 0:
		return Expired
	case !d.series.Snapshots[i].ReadyToUse:
		return Unready
	case d.keep == Tiers{}:
		return NoLimit
	case d.serves(i):
		return KeptNewest // unless a tier selects it
	default:
		return NotSelected // unless a tier does
	}
}

// serves tells whether a snapshot is what keeps the slots of a selected PVC from
// being due: if the newest one went, it would be taken once more.
func (d *decider) serves(i int) bool { return i == d.newest && d.series.Claim == Selected }

// enforceFloor keeps the newest minReady ready snapshots, however old, held
// ones among them.
func (d *decider) enforceFloor() {
	for _, i := range d.ready[:d.floor()] {
		if d.verdicts[i].Delete() {
			d.verdicts[i] = Floor
		}
	}
}

// floor is how many of the ready snapshots make up the floor.
func (d *decider) floor() int { return min(max(d.minReady, 0), len(d.ready)) }

// supersede deletes cut snapshots that failed or are no longer ready, where no
// TTL would ever: once they are beyond readyDeadline and older than every ready
// one that is kept. It stays away from a policy without any limit, which keeps
// everything, and from the newest of a selected PVC. It returns the indexes that
// Decision.Floor is made of.
func (d *decider) supersede() []int {
	floor := d.ready[:d.floor():d.floor()]
	if d.ttl > 0 || (d.keep == Tiers{} && d.maxCount <= 0) {
		return floor
	}
	oldest := -1
	for _, i := range d.ready {
		if !d.verdicts[i].Delete() && (oldest < 0 || d.ageBase(i).Before(d.ageBase(oldest))) {
			oldest = i
		}
	}
	if oldest < 0 {
		return floor
	}
	for i := range d.verdicts {
		if d.stale(i) && d.ageBase(i).Before(d.ageBase(oldest)) {
			d.verdicts[i] = Superseded
			if len(floor) == 0 {
				floor = append(floor, oldest)
			}
		}
	}
	return floor
}

// stale tells whether a snapshot is cut, not ready, has had its time, and does
// not serve a slot.
func (d *decider) stale(i int) bool {
	s := &d.series.Snapshots[i]
	return d.verdicts[i] == Unready && !s.Uncut() && !d.serves(i) && !d.now.Before(s.Created.Add(d.readyDeadline))
}

// expiry is when the age of a snapshot is beyond the TTL, if there is one. The
// newest snapshot of a selected PVC does not expire before its slot does, else
// the slot would be due again for as long as the API server's clock, which
// stamps creations in whole seconds, is behind ours.
func (d *decider) expiry(i int) time.Time {
	since := d.ageBase(i)
	if d.serves(i) {
		if slot := d.series.Snapshots[i].Slot(d.now); slot.After(since) {
			since = slot
		}
	}
	return since.Add(d.ttl)
}

func (d *decider) ageBase(i int) time.Time { return d.series.Snapshots[i].AgeBase(d.now) }

// next is the earliest time after now at which time alone may change a verdict
// or a State. Tiers, cap and floor change only when one of these does.
func (d *decider) next() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if t.After(d.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for i := range d.series.Snapshots {
		s := &d.series.Snapshots[i]
		if !s.ScheduledAt.IsZero() {
			at(s.ScheduledAt) // from then on it is the snapshot's slot
		}
		if s.Deleting {
			continue
		}
		if d.ttl > 0 {
			at(d.expiry(i))
		}
		if s.HasCutTime {
			at(s.CutTime) // from then on age counts from it
		}
		if !s.ReadyToUse {
			at(s.Created.Add(d.readyDeadline))
		}
	}
	return next
}

// rank is a snapshot's place in the order of a series.
type rank struct {
	slot  int64 // Unix seconds
	index int
}

// newestFirst orders the snapshots as the contract has it.
func newestFirst(snapshots []Snapshot, now time.Time) []rank {
	ranks := make([]rank, len(snapshots))
	for i := range snapshots {
		ranks[i] = rank{slot: snapshots[i].Slot(now).Unix(), index: i}
	}
	slices.SortFunc(ranks, func(a, b rank) int {
		if a.slot != b.slot {
			return cmp.Compare(b.slot, a.slot)
		}
		return older(&snapshots[b.index], &snapshots[a.index], now)
	})
	return ranks
}
