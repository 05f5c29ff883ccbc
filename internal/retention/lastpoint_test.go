// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawTwoKeys draws the group snapshots of two keys that the same PVCs are, or were, in.
func drawTwoKeys(t *rapid.T, p Policy) (a, b GroupSeries) {
	a, b = drawGroup(t, p), drawGroup(t, p)
	for uid, claim := range b.Claims { // a PVC is in one state
		if _, known := a.Claims[uid]; !known {
			a.Claims[uid] = claim
		}
	}
	b.Claims = a.Claims
	for i := range b.Whole.Snapshots {
		b.Whole.Snapshots[i].Name = "b" + b.Whole.Snapshots[i].Name
	}
	a.Elsewhere, a.ElsewhereParts = b.Whole.Snapshots, b.Parts
	b.Elsewhere, b.ElsewhereParts = a.Whole.Snapshots, a.Parts
	return a, b
}

// Both keys are decided about at one time, and all that is decided is carried out: no PVC that exists has fewer ready snapshots than
// minReady, if it had as many, and while it has fewer, what may become ready again stays.
//
// Contract: GRP-9, RET-6.
func TestGroupsOfTwoKeysLeaveEachPVCItsLastRecoveryPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		a, b := drawTwoKeys(t, p)
		ofA, ofB := DecideGroup(p, noon, a), DecideGroup(p, noon, b)
		for _, uid := range []string{"a", "b", "c", "d"} {
			if _, exists := a.Claims[uid]; !exists {
				if _, exists = b.Claims[uid]; !exists {
					continue
				}
			}
			before, after := 0, 0
			count := func(g *GroupSeries, d Decision) {
				one, index := g.of(uid)
				for j := range one.Snapshots {
					if one.Snapshots[j].IsReady() {
						if before++; !d.Verdicts[index[j]].Delete() {
							after++
						}
					}
				}
			}
			count(&a, ofA)
			count(&b, ofB)
			if after < min(before, p.MinReady) {
				t.Fatalf("PVC %s had %d ready ones, and has %d; minReady %d", uid, before, after, p.MinReady)
			}
			stay := func(g *GroupSeries, d Decision) {
				one, index := g.of(uid)
				for j := range one.Snapshots {
					if s := &one.Snapshots[j]; s.mayRecover(noon, p.ReadyDeadline) && d.Verdicts[index[j]].Delete() {
						t.Fatalf("%s of PVC %s may become ready again, and is %v: %d of %d are ready",
							s.Name, uid, d.Verdicts[index[j]], before, p.MinReady)
					}
				}
			}
			if before < p.MinReady {
				stay(&a, ofA)
				stay(&b, ofB)
			}
		}
	})
}

// Contract: GRP-9, GRP-10.
func TestAGroupSnapshotThatIsHeldIsNotDeleted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		g, _ := drawTwoKeys(t, p)
		for i, v := range DecideGroup(p, noon, g).Verdicts {
			s := &g.Whole.Snapshots[i]
			held := !s.Uncut() && (s.HeldUntil.After(noon) || s.Restoring)
			if v.Delete() && (held || s.Deleting) {
				t.Fatalf("%+v: %v", s, v)
			}
		}
	})
}

// Contract: GRP-9, SLOT-12.
func TestADecisionAboutGroupsDoesNotChangeBeforeNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		g := drawGroup(t, p)
		d := DecideGroup(p, noon, g)
		until := d.Next
		if until.IsZero() {
			until = noon.AddDate(100, 0, 0)
		}
		later := DecideGroup(p, until.Add(-1), g)
		if later.Take != d.Take || !slices.Equal(later.Verdicts, d.Verdicts) || !slices.Equal(later.Floor, d.Floor) {
			t.Fatalf("at noon %+v, at %v %+v", d, until.Add(-1), later)
		}
	})
}
