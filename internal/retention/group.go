// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"time"
)

// GroupSeries is the group snapshots of one group of PVCs under one schedule.
type GroupSeries struct {
	// Whole is the series as if the group were one PVC. It decides what is taken, and about
	// group snapshots without data.
	Whole Series
	// Claims are the PVCs that any of them holds, by UID. Of one that is missing here no PVC
	// exists.
	Claims map[string]GroupClaim
	// Parts are, for each of Whole.Snapshots, the PVCs whose data it holds or may hold again.
	Parts [][]Part
	// Elsewhere are group snapshots of other keys of the schedule, and ElsewhereParts the PVCs that they hold. They
	// count only for the floor of each PVC, so that a key that a PVC has left keeps nothing that a newer one has.
	Elsewhere      []Snapshot
	ElsewhereParts [][]Part
}

// GroupClaim is what became of a PVC that exists.
type GroupClaim struct {
	Claim    Claim
	Deleting bool
}

// Part is the snapshot of one PVC in a group snapshot.
type Part struct {
	// UID is that of the PVC.
	UID string
	// Ready reports whether the PVC can be restored from it.
	Ready bool
	// HasError and ErrorTime are those of the part, if it has an error of its own.
	HasError  bool
	ErrorTime time.Time
	// VerifiedAt and VerifyFailedAt are those of its drills.
	VerifiedAt, VerifyFailedAt time.Time
}

// DecideGroup decides about group snapshots as units. One that holds data is deleted only
// if Decide would delete it of each PVC whose data it holds, were it the snapshot of that
// PVC alone: the policy, its floor included, holds for each PVC, however the group changes.
// About others, Decide decides as about those of one PVC, too.
func DecideGroup(policy Policy, now time.Time, g GroupSeries) Decision {
	n := len(g.Whole.Snapshots)
	u := union{Decision: Decide(policy, now, g.Whole), kept: make([]bool, n), keepsClaim: make([]bool, n), keepsOther: make([]bool, n)}
	u.left = g.leaveToClaims(now, u.Verdicts)
	for _, uid := range g.uids() {
		one, index := g.of(uid)
		if u.Take.Due { // what has failed may have to make place for each PVC
			one.Slot, one.VolumeFull = g.Whole.Slot, g.Whole.VolumeFull
		}
		u.add(Decide(g.floorOf(policy, now, uid, one, &u.Decision), now, one), index, len(g.Elsewhere) > 0)
	}
	for i := range u.Verdicts { // the group itself is not being deleted, its PVC is
		failed := g.Whole.Snapshots[i].State(now, policy.ReadyDeadline) == Failed
		if failed && u.keepsClaim[i] && !u.keepsOther[i] && !u.Verdicts[i].Delete() {
			u.Verdicts[i] = KeepsClaim
		}
	}
	u.Floor = slices.DeleteFunc(u.Floor, func(i int) bool { return u.Verdicts[i].Delete() })
	return u.Decision
}

// union is the decision about group snapshots, to which those about each PVC are added.
type union struct {
	Decision

	// left is set where only the PVCs decide.
	left []bool
	// kept is set where a PVC keeps a group snapshot; the first verdict counts.
	kept []bool
	// keepsClaim is set where a PVC lets one go that keeps it from being deleted, keepsOther where another PVC keeps it.
	keepsClaim, keepsOther []bool
}

// add adds the decision about one PVC. index says which group snapshot each of its snapshots is; elsewhere is set if a part of the
// floor of the PVC may be of another key.
func (u *union) add(decided Decision, index []int, elsewhere bool) {
	for j, v := range decided.Verdicts {
		i := index[j]
		if v == KeepsClaim && elsewhere {
			v = Unready
		}
		u.keepsClaim[i], u.keepsOther[i] = u.keepsClaim[i] || v == KeepsClaim, u.keepsOther[i] || !v.Delete()
		u.keep(i, v)
	}
	for _, j := range decided.Floor {
		if !slices.Contains(u.Floor, index[j]) {
			u.Floor = append(u.Floor, index[j])
		}
	}
	if next := decided.Next; !next.IsZero() && (u.Next.IsZero() || next.Before(u.Next)) {
		u.Next = next
	}
}

// keep has a PVC keep a group snapshot that would be deleted, if that is its verdict; one that lets it go says why.
func (u *union) keep(i int, v Verdict) {
	if v.Delete() && u.left[i] && !u.kept[i] {
		u.Verdicts[i] = v
	}
	if v.Delete() || !u.Verdicts[i].Delete() && !u.kept[i] || u.Verdicts[i].Urgent() {
		return
	}
	if !u.kept[i] || v < u.Verdicts[i] {
		u.Verdicts[i], u.kept[i] = v, true
	}
}

// leaveToClaims leaves to the PVCs what becomes of the ready group snapshots that they can be restored from, and
// returns which these are. But the newest of a group that has slots is not left to them: its slot would be due again.
func (g *GroupSeries) leaveToClaims(now time.Time, verdicts []Verdict) []bool {
	left := make([]bool, len(verdicts))
	covered := g.Whole.Claim != Selected
	for _, r := range newestFirst(g.Whole.Snapshots, now) {
		i, s := r.index, &g.Whole.Snapshots[r.index]
		covers := !covered && !s.Deleting && !s.covers(now).IsZero()
		covered = covered || covers
		// Only the floor keeps one for no slot.
		if s.IsReady() && (!covers || verdicts[i] == Floor) && slices.ContainsFunc(g.Parts[i], func(p Part) bool { return p.Ready }) {
			verdicts[i], left[i] = NotSelected, true
		}
	}
	return left
}

// floorOf returns the policy of one PVC with the part of its floor that is in its series, and what the floor lacks: then
// one that may become ready again is spared. The rest is elsewhere, and deletes depend on that, too.
func (g *GroupSeries) floorOf(policy Policy, now time.Time, uid string, one Series, d *Decision) Policy {
	if len(g.Elsewhere) == 0 {
		return policy
	}
	others := GroupSeries{Whole: Series{Snapshots: g.Elsewhere}, Parts: g.ElsewhereParts}
	elsewhere, index := others.of(uid)
	all := slices.Concat(one.Snapshots, elsewhere.Snapshots)
	left, here := policy.limitsFor(one.Claim).minReady, 0
	for _, r := range newestFirst(all, now) {
		if left <= 0 {
			break
		}
		if !all[r.index].IsReady() {
			continue
		}
		if left--; r.index < len(one.Snapshots) {
			here++
		} else if i := index[r.index-len(one.Snapshots)]; !slices.Contains(d.Elsewhere, i) {
			d.Elsewhere = append(d.Elsewhere, i)
		}
	}
	policy.MinReady, policy.Detached.MinReady = here+max(left, 0), here+max(left, 0)
	return policy
}

// uids returns the PVCs of all parts, sorted.
func (g *GroupSeries) uids() []string {
	var all []string
	for _, parts := range g.Parts {
		for _, p := range parts {
			if i, known := slices.BinarySearch(all, p.UID); !known {
				all = slices.Insert(all, i, p.UID)
			}
		}
	}
	return all
}

// Of returns the series of one PVC: the group snapshots that hold its data.
func (g *GroupSeries) Of(uid string) Series {
	one, _ := g.of(uid)
	return one
}

// of returns the series of one PVC, and which of Whole.Snapshots its snapshots are.
func (g *GroupSeries) of(uid string) (one Series, index []int) {
	claim, exists := g.Claims[uid]
	if one.Claim, one.ClaimDeleting = claim.Claim, claim.Deleting; !exists {
		one.Claim = Gone
	}
	for i, parts := range g.Parts {
		for _, p := range parts {
			if p.UID != uid {
				continue
			}
			s := g.Whole.Snapshots[i]
			if s.ReadyToUse { // an error of before
				s.HasError, s.ErrorTime = false, time.Time{}
			}
			s.ReadyToUse = s.ReadyToUse && p.Ready
			if p.HasError {
				s.HasError, s.ErrorTime = true, p.ErrorTime
			}
			s.HasCutTime = true // it holds data, so it is not for its PVC to wait until it is cut
			s.VerifiedAt, s.VerifyFailedAt = p.VerifiedAt, p.VerifyFailedAt
			one.Snapshots, index = append(one.Snapshots, s), append(index, i)
		}
	}
	return one, index
}
