// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Contract: GRP-9.
func TestTheFloorCountsGroupSnapshotsOfOtherKeys(t *testing.T) {
	ttl := Policy{TTL: 10 * day, MinReady: 1}
	two := Policy{TTL: 10 * day, MinReady: 2}
	left := map[string]GroupClaim{"a": {Claim: Unselected}}
	for name, tc := range map[string]struct {
		policy    Policy
		claims    map[string]GroupClaim
		here      string // what the group snapshot of 11 days ago holds
		elsewhere Snapshot
		held      string
		want      Verdict
		evidence  bool
	}{
		"a newer one":                        {ttl, left, "a", ready(day), "a", Expired, true},
		"an older one":                       {ttl, left, "a", ready(12 * day), "a", Floor, false},
		"one that is not ready":              {ttl, left, "a", ready(day), "A", Floor, false},
		"one that is being deleted":          {ttl, left, "a", ready(day).deleting(), "a", Floor, false},
		"one of another PVC":                 {ttl, left, "a", ready(day), "b", Floor, false},
		"fewer than minReady":                {two, left, "a", ready(day), "a", Floor, true},
		"of one of two PVCs":                 {ttl, map[string]GroupClaim{"a": {Claim: Unselected}, "b": {}}, "ab", ready(day), "a", Floor, true},
		"of a PVC that has left and is gone": {ttl, nil, "a", ready(day), "b", Expired, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.policy.ReadyDeadline = time.Hour
			old := ready(11 * day)
			g := GroupSeries{
				Whole: Series{Claim: Unselected, Snapshots: []Snapshot{old}}, Parts: [][]Part{partsOf(tc.here, old)}, Claims: tc.claims,
				Elsewhere: []Snapshot{tc.elsewhere}, ElsewhereParts: [][]Part{partsOf(tc.held, tc.elsewhere)},
			}
			d := DecideGroup(tc.policy, noon, g)
			if d.Verdicts[0] != tc.want || (len(d.Elsewhere) > 0) != tc.evidence {
				t.Errorf("%v, evidence elsewhere %v; want %v, %t", d.Verdicts[0], d.Elsewhere, tc.want, tc.evidence)
			}
		})
	}
}

// Guarantee S3: over all keys, each PVC that exists keeps its newest minReady group snapshots, and the deletes depend on
// them. Those of other keys make no other difference.
//
// Contract: GRP-9.
func TestTheFloorHoldsOverAllKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		g, other := drawGroup(t, p), drawGroup(t, p)
		alone := DecideGroup(p, noon, g)
		g.Elsewhere, g.ElsewhereParts = other.Whole.Snapshots, other.Parts
		d := DecideGroup(p, noon, g)
		others := GroupSeries{Whole: other.Whole, Parts: other.Parts}
		for _, uid := range g.uids() {
			one, index := g.of(uid)
			elsewhere, indexElsewhere := others.of(uid)
			all := slices.Concat(one.Snapshots, elsewhere.Snapshots)
			left := p.limitsFor(one.Claim).minReady
			for _, r := range newestFirst(all, noon) {
				if left <= 0 || !all[r.index].IsReady() {
					continue
				}
				left--
				if r.index >= len(one.Snapshots) {
					if i := indexElsewhere[r.index-len(one.Snapshots)]; !slices.Contains(d.Elsewhere, i) {
						t.Fatalf("PVC %s depends on %d elsewhere, evidence %v", uid, i, d.Elsewhere)
					}
				} else if i := index[r.index]; d.Verdicts[i].Delete() || !slices.Contains(d.Floor, i) {
					t.Fatalf("%d, of the floor of PVC %s, is %v, evidence %v", i, uid, d.Verdicts[i], d.Floor)
				}
			}
		}
		for i, v := range d.Verdicts {
			s, was := &g.Whole.Snapshots[i], alone.Verdicts[i]
			// What failed, as a whole or of one PVC, was kept for what the floor of a PVC lacked: now it makes place.
			fails := func(part Part) bool { return part.HasError || s.HasError && !s.ReadyToUse }
			makesPlace := was == WithinTTL && d.Take.Due && g.Whole.VolumeFull && slices.ContainsFunc(g.Parts[i], fails)
			if v.Delete() && was < Floor && was != Unready && !makesPlace {
				t.Fatalf("%d is %v because of others, and was %v", i, v, was)
			}
		}
	})
}
