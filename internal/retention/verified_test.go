// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Contract: VER-1, VER-3.
func TestDecideKeepsVerifiedSnapshots(t *testing.T) {
	one, two := Policy{TTL: 10 * day, MinVerified: 1}, Policy{TTL: 10 * day, MinVerified: 2}
	testDecide(t, map[string]decideCase{
		"keeps the newest minVerified, however old": {
			policy: two,
			want: []expected{
				ready(day).want(WithinTTL), ready(20 * day).want(Expired), ready(400 * day).verified(day).want(Verified),
				ready(401 * day).verified(300 * day).want(Verified), ready(402 * day).verified(0).want(Expired),
			},
			checkAll: true, wantFloor: []int{2, 3}, wantNext: 9 * day,
		},
		"beside minReady": {
			policy: Policy{TTL: 10 * day, MinReady: 2, MinVerified: 2},
			want: []expected{
				ready(20 * day).want(Floor), ready(21 * day).verified(day).want(Floor), ready(22 * day).want(Expired),
				ready(23 * day).verified(day).want(Verified), ready(24 * day).verified(day).want(Expired),
			},
			checkAll: true, wantFloor: []int{0, 1, 3},
		},
		"needs no other while the newest is within the TTL": {
			policy:   one,
			want:     []expected{ready(day).verified(0).want(WithinTTL), ready(20 * day).verified(19 * day).want(Expired)},
			checkAll: true, wantFloor: []int{0}, wantNext: 9 * day,
		},
		"none by default": {policy: Policy{TTL: 10 * day}, want: []expected{ready(20 * day).verified(day).want(Expired)}, checkAll: true},
		"none with a negative number": {
			policy: Policy{TTL: 10 * day, MinVerified: -1}, want: []expected{ready(20 * day).verified(day).want(Expired)},
		},
		"an older one in place of one whose last drill failed": {
			policy:   one,
			want:     []expected{ready(20 * day).verified(2 * day).verifyFailed(day).want(Expired), ready(30 * day).verified(3 * day).want(Verified)},
			checkAll: true, wantFloor: []int{1},
		},
		"one whose last drill succeeded": {policy: one, want: []expected{ready(20 * day).verified(day).verifyFailed(2 * day).want(Verified)}},
		"not one with both at the same time": {
			policy: one, want: []expected{ready(20 * day).verified(day).verifyFailed(day).want(Expired)},
		},
		"not before the time of the drill": {
			policy:   one,
			want:     []expected{ready(20 * day).verified(-time.Minute).want(Expired), ready(30 * day).verified(0).verifyFailed(-time.Hour).want(Verified)},
			checkAll: true, wantFloor: []int{1}, wantNext: time.Minute,
		},
		"for a PVC that is not selected": {
			policy: Policy{TTL: 10 * day, MinVerified: 1, Detached: Detached{TTL: day}}, series: Series{Claim: Unselected},
			want: []expected{ready(2 * day).want(Expired), ready(20 * day).verified(day).want(Verified)},
		},
		"for a PVC that is being deleted": {
			policy: one, series: Series{ClaimDeleting: true}, want: []expected{ready(20 * day).verified(day).want(Verified)},
		},
		"not for a PVC that is gone": {
			policy: one, series: Series{Claim: Gone}, want: []expected{ready(20 * day).verified(day).want(Expired)}, checkAll: true,
		},
		"not one that is being deleted": {
			policy: one,
			want:   []expected{ready(20 * day).verified(day).deleting().want(BeingDeleted), ready(30 * day).verified(day).want(Verified)},
		},
		"counts held ones": {
			policy: one,
			want:   []expected{ready(20 * day).verified(day).held(Forever).want(HeldByAnnotation), ready(30 * day).verified(day).want(Expired)},
		},
		"not one that is not ready": {
			policy: one,
			want:   []expected{inError(20 * day).verified(day).want(Expired), ready(30 * day).verified(day).want(Verified)},
		},
		"one that lost its readiness, while it may recover": {
			policy: two,
			want: []expected{
				ready(15 * day).want(Expired), inError(20 * day).since(noon.Add(-time.Minute)).verified(day).want(Recovering), uploading(25 * day).verified(day).want(Recovering),
				ready(30 * day).verified(day).want(Verified), inError(40 * day).since(noon.Add(-2 * time.Hour)).verified(day).want(Expired),
			},
		},
		"not one that lost its readiness without an error, while there are enough": {
			policy: one, want: []expected{ready(20 * day).verified(day).want(Verified), uploading(25 * day).verified(day).want(Expired)},
		},
		"overrides the cap, which does not count it": {
			policy: Policy{MaxCount: 2, MinVerified: 1},
			want: []expected{
				ready(day).want(NoLimit), ready(2 * day).want(NoLimit), ready(3 * day).want(OverCap), ready(4 * day).verified(day).want(Verified),
			},
		},
		"counts for the cap if something else keeps it": {
			policy: Policy{MaxCount: 2, MinVerified: 1},
			want:   []expected{ready(day).verified(0).want(NoLimit), ready(2 * day).want(NoLimit), ready(3 * day).want(OverCap)},
		},
		"overrides tiers, and takes no place of last": {
			policy: Policy{Keep: Tiers{Last: 1}, MinVerified: 1},
			want:   []expected{ready(day).want(KeptLast), ready(2 * day).want(NotSelected), ready(3 * day).verified(day).want(Verified)},
		},
		"what failed and is older than all that is kept without it is superseded all the same": {
			policy: Policy{Keep: Tiers{Last: 1}, MinVerified: 1},
			want: []expected{
				ready(day).want(KeptLast), inError(2 * day).want(Superseded), ready(3 * day).verified(day).want(Verified),
			},
			checkAll: true, wantFloor: []int{0, 2},
		},
		"an imported one": {
			policy: one, want: []expected{ready(day).want(WithinTTL), importedReady(20 * day).verified(day).want(Verified)},
		},
	})
}

// Guarantee S14: whatever the annotations of drills are, they keep snapshots and do nothing
// else, and so does a failed drill.
//
// Contract: VER-1, VER-2.
func TestDrillsNeverMakeDecideDeleteMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		without := s
		without.Snapshots = slices.Clone(s.Snapshots)
		for i := range without.Snapshots {
			without.Snapshots[i].VerifiedAt, without.Snapshots[i].VerifyFailedAt = time.Time{}, time.Time{}
		}
		p0 := p
		p0.MinVerified = 0
		plain, zero, got := Decide(p, noon, without), Decide(p0, noon, s), Decide(p, noon, s)
		if !slices.Equal(plain.Verdicts, zero.Verdicts) || !slices.Equal(plain.Floor, zero.Floor) || plain.Take != zero.Take {
			t.Fatalf("without drills %+v, with minVerified 0 %+v", plain, zero)
		}
		for i, v := range got.Verdicts {
			if before := plain.Verdicts[i]; v != before && (!before.Delete() || before.Urgent() || (v != Verified && v != Recovering)) {
				t.Fatalf("%+v: %v without drills, %v with them", s.Snapshots[i], before, v)
			}
		}
		if got.Take != plain.Take || !slices.Equal(got.Floor[:len(plain.Floor)], plain.Floor) {
			t.Fatalf("takes %+v with floor %v, without drills %+v with %v", got.Take, got.Floor, plain.Take, plain.Floor)
		}
	})
}

// The newest minVerified stay, and the deletes depend on them.
//
// Contract: VER-1, GUARD-4.
func TestDecideKeepsMinVerified(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		d := Decide(p, noon, s)
		left := p.MinVerified
		if s.Claim == Gone {
			left = 0
		}
		for _, r := range newestFirst(s.Snapshots, noon) {
			x := &s.Snapshots[r.index]
			if _, verified := x.Drill(noon); !verified || !x.IsReady() {
				continue
			}
			if left--; left < 0 {
				break
			}
			if d.Verdicts[r.index].Delete() || !slices.Contains(d.Floor, r.index) {
				t.Fatalf("%s is %v, and not kept by minVerified; evidence %v", x.Name, d.Verdicts[r.index], d.Floor)
			}
		}
	})
}

// What only minVerified keeps costs no ready snapshot its place. Nothing is spared for an error here.
//
// Contract: VER-1.
func TestDecideCountsVerifiedSnapshotsAsIfTheyWereNotThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, true)
		rest := s
		rest.Snapshots = nil
		var beside []Verdict
		for i, v := range decideWithoutSparing(p, noon, s).Verdicts {
			if v != Verified {
				rest.Snapshots, beside = append(rest.Snapshots, s.Snapshots[i]), append(beside, v)
			}
		}
		p.MinVerified = 0
		for i, v := range decideWithoutSparing(p, noon, rest).Verdicts {
			if x := &rest.Snapshots[i]; x.IsReady() && beside[i].Delete() && !v.Delete() {
				t.Fatalf("%+v: %v beside what minVerified keeps, %v without it", x, beside[i], v)
			}
		}
	})
}
