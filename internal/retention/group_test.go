// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// groupCase is a case of a table for DecideGroup. Each snapshot holds the PVCs that are
// named beside it, by one letter each; those in capitals are not ready.
type groupCase struct {
	policy Policy
	claim  Claim
	slot   time.Time
	full   bool
	claims map[string]GroupClaim
	held   []string
	want   []expected
}

func partsOf(letters string, s Snapshot) (parts []Part) {
	for _, c := range letters {
		ready := c >= 'a'
		if !ready {
			c += 'a' - 'A'
		}
		parts = append(parts, Part{UID: string(c), Ready: ready, HasError: !ready && s.ReadyToUse, ErrorTime: noon})
	}
	return parts
}

// Contract: GRP-9.
func TestDecideGroup(t *testing.T) {
	both := map[string]GroupClaim{"a": {}, "b": {}}
	ttl := Policy{TTL: 10 * day, MinReady: 1}
	for name, tc := range map[string]groupCase{
		"like one PVC": {
			policy: ttl, claims: both, held: []string{"ab", "ab", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Expired), ready(12 * day).want(Expired)},
		},
		"the newest that holds a PVC stays": {
			policy: ttl, claims: both, held: []string{"a", "a", "ab", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Expired), ready(12 * day).want(Floor), ready(13 * day).want(Expired)},
		},
		"one whose part is not ready holds nothing, and may recover": {
			policy: ttl, claims: both, held: []string{"a", "aB", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Recovering), ready(12 * day).want(Floor)},
		},
		"of a PVC that is gone": {
			policy: ttl, claims: map[string]GroupClaim{"a": {}}, held: []string{"a", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Expired)},
		},
		"of a PVC that is gone, as long as detached says": {
			policy: Policy{TTL: 10 * day, MinReady: 1, Detached: Detached{TTL: 30 * day, MinReady: 1}},
			claims: map[string]GroupClaim{"a": {}}, held: []string{"a", "ab", "ab", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(WithinTTL), ready(31 * day).want(Expired), ready(32 * day).want(Expired)},
		},
		"of a PVC that is gone, although the group keeps all of its own": {
			policy: Policy{MaxCount: 20, MinReady: 1, Detached: Detached{TTL: 5 * day, MinReady: 1}},
			claims: map[string]GroupClaim{"a": {}}, held: []string{"a", "b", "ab", "b"},
			want: []expected{
				ready(day).want(NoLimit), ready(4 * day).want(WithinTTL), ready(6 * day).want(NoLimit), ready(7 * day).want(Expired),
			},
		},
		"the newest, of a PVC that is gone, covers a slot of the group": {
			policy: Policy{MinReady: 1, Detached: Detached{TTL: 5 * day}},
			claims: map[string]GroupClaim{"a": {}}, held: []string{"b", "a"},
			want: []expected{ready(6 * day).want(NoLimit), ready(7 * day).want(NoLimit)},
		},
		"of a PVC that is no longer selected": {
			policy: ttl, claims: map[string]GroupClaim{"a": {}, "b": {Claim: Unselected}}, held: []string{"a", "ab", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Floor), ready(12 * day).want(Expired)},
		},
		"one that holds nothing goes by the whole series": {
			policy: ttl, claims: both, held: []string{"ab", "", ""},
			want: []expected{ready(day).want(WithinTTL), ready(2 * day).want(WithinTTL), ready(11 * day).want(Expired)},
		},
		"verified for one of them": {
			policy: Policy{TTL: 10 * day, MinReady: 1, MinVerified: 1}, claims: both, held: []string{"ab", "ab", "ab+"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Expired), ready(12 * day).want(Verified)},
		},
		"uncut ones by the whole series": {
			policy: ttl, claims: both, slot: noon, held: []string{"", "ab"},
			want: []expected{uncut(2 * time.Hour).want(Replaced), ready(11 * day).want(Floor)},
		},
		"what failed makes place": {
			policy: ttl, claims: both, slot: noon, full: true, held: []string{"AB", "ab"},
			want: []expected{inError(2 * time.Hour).want(Superseded), ready(11 * day).want(Floor)},
		},
		"what failed, while all its PVCs are being deleted": {
			policy: ttl, claims: map[string]GroupClaim{"a": {Deleting: true}, "b": {Deleting: true}}, held: []string{"ab", "AB"},
			want: []expected{ready(day).want(WithinTTL), inError(2 * day).want(KeepsClaim)},
		},
		"what failed, while one of its PVCs is being deleted": {
			policy: ttl, claims: map[string]GroupClaim{"a": {Deleting: true}, "b": {}}, held: []string{"ab", "AB"},
			want: []expected{ready(day).want(WithinTTL), inError(2 * day).want(WithinTTL)},
		},
		"what failed, while all its PVCs are being deleted and one has no other": {
			policy: ttl, claims: map[string]GroupClaim{"a": {Deleting: true}, "b": {Deleting: true}}, held: []string{"a", "AB"},
			want: []expected{ready(day).want(WithinTTL), inError(2 * day).want(WithinTTL)},
		},
		"all are gone": {
			policy: ttl, claim: Gone, held: []string{"ab", "ab"},
			want: []expected{ready(day).want(WithinTTL), ready(11 * day).want(Expired)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.policy.ReadyDeadline = time.Hour
			g := GroupSeries{Whole: Series{Claim: tc.claim, Slot: tc.slot, VolumeFull: tc.full}, Claims: tc.claims}
			for i, e := range tc.want {
				g.Whole.Snapshots = append(g.Whole.Snapshots, e.Snapshot)
				parts := partsOf(strings.TrimSuffix(tc.held[i], "+"), e.Snapshot)
				if len(tc.held[i]) > len(parts) {
					parts[0].VerifiedAt = noon.Add(-time.Hour)
				}
				g.Parts = append(g.Parts, parts)
			}
			got := DecideGroup(tc.policy, noon, g)
			for i, e := range tc.want {
				if got.Verdicts[i] != e.verdict {
					t.Errorf("%d, %s: %v, want %v", i, e.Name, got.Verdicts[i], e.verdict)
				}
			}
		})
	}
}

func drawGroup(t *rapid.T, p Policy) GroupSeries {
	g := GroupSeries{Whole: drawSeries(t, p, rapid.Bool().Draw(t, "regular")), Claims: map[string]GroupClaim{}}
	uids := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "pvcs")]
	for _, u := range uids {
		if claim := rapid.SampledFrom([]Claim{Selected, Selected, Unselected, Gone}).Draw(t, "claim "+u); claim != Gone {
			g.Claims[u] = GroupClaim{Claim: claim, Deleting: rapid.IntRange(0, 4).Draw(t, "deleting") == 0}
		}
	}
	for i := range g.Whole.Snapshots {
		var parts []Part
		for _, u := range uids {
			if g.Whole.Snapshots[i].Uncut() || rapid.IntRange(0, 3).Draw(t, "holds") == 0 {
				continue
			}
			p := Part{UID: u, Ready: rapid.IntRange(0, 4).Draw(t, "ready") > 0}
			p.HasError = !p.Ready && rapid.Bool().Draw(t, "error")
			p.ErrorTime = noon.Add(-drawAge(t, "error"))
			if rapid.IntRange(0, 3).Draw(t, "drill") == 0 {
				p.VerifiedAt = noon.Add(-drawAge(t, "verified"))
			}
			parts = append(parts, p)
		}
		g.Parts = append(g.Parts, parts)
	}
	return g
}

// Guarantee S15: however the PVCs of a group change, each that exists keeps the newest minReady
// group snapshots that hold it, the deletes depend on them, and so for verified ones.
//
// Contract: GRP-9.
func TestGroupKeepsTheFloorOfEachPVC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		g := drawGroup(t, p)
		d := DecideGroup(p, noon, g)
		for _, uid := range g.uids() {
			claim, exists := g.Claims[uid]
			least, verified := p.MinReady, p.MinVerified
			if !exists || claim.Claim == Gone {
				least, verified = p.Detached.MinReady, 0
			}
			one, index := g.of(uid)
			for _, r := range newestFirst(one.Snapshots, noon) {
				s, i := &one.Snapshots[r.index], index[r.index]
				if !s.IsReady() {
					continue
				}
				keeps := least > 0
				least--
				if _, ok := s.Drill(noon); ok {
					keeps = keeps || verified > 0
					verified--
				}
				if keeps && (d.Verdicts[i].Delete() || !slices.Contains(d.Floor, i)) {
					t.Fatalf("%s of PVC %s is %v, evidence %v: %+v", s.Name, uid, d.Verdicts[i], d.Floor, one)
				}
			}
		}
	})
}

// A ready group snapshot that holds a PVC is deleted if it would be of each that it holds, unless it covers
// the slot of the group; another one only if it would be as that of one PVC, too, or to let one of these go.
//
// Contract: GRP-9.
func TestGroupGoesOnlyIfEachPVCLetsItGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		g := drawGroup(t, p)
		d, whole := DecideGroup(p, noon, g), Decide(p, noon, g.Whole)
		if d.Take != whole.Take {
			t.Fatalf("takes %+v, as one PVC %+v", d.Take, whole.Take)
		}
		lets := make([]bool, len(d.Verdicts))
		free, keep := make([]bool, len(d.Verdicts)), make([]bool, len(d.Verdicts))
		newest := -1
		for i := range g.Whole.Snapshots {
			s := &g.Whole.Snapshots[i]
			if !s.Deleting && !s.covers(noon).IsZero() && (newest < 0 || compareAge(&g.Whole.Snapshots[newest], s, noon) < 0) {
				newest = i
			}
		}
		for i, v := range whole.Verdicts {
			holds := g.Whole.Snapshots[i].IsReady() && slices.ContainsFunc(g.Parts[i], func(p Part) bool { return p.Ready })
			lets[i] = v.Delete() || holds && (v == Floor || i != newest || g.Whole.Claim != Selected)
		}
		for _, uid := range g.uids() {
			one, index := g.of(uid)
			if d.Take.Due {
				one.Slot, one.VolumeFull = g.Whole.Slot, g.Whole.VolumeFull
			}
			for j, v := range Decide(p, noon, one).Verdicts {
				free[index[j]], keep[index[j]] = free[index[j]] || v == KeepsClaim, keep[index[j]] || !v.Delete()
				lets[index[j]] = lets[index[j]] && (v.Delete() || whole.Verdicts[index[j]].Urgent())
			}
		}
		for i, v := range d.Verdicts {
			if free[i] && !keep[i] && g.Whole.Snapshots[i].State(noon, p.ReadyDeadline) == Failed {
				lets[i] = true
			}
			if v.Delete() != lets[i] {
				t.Fatalf("%d is %v, and may go: %v; %+v", i, v, lets[i], g)
			}
		}
	})
}

// A group whose PVCs never changed, and whose parts are all ready, is decided about as one PVC is.
func TestStableGroupIsLikeOnePVC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.MinVerified = 0
		s := drawSeries(t, p, true)
		for i := range s.Snapshots {
			s.Snapshots[i].HasError = false
		}
		g := GroupSeries{Whole: s, Claims: map[string]GroupClaim{}}
		for _, u := range []string{"a", "b"} {
			if s.Claim != Gone {
				g.Claims[u] = GroupClaim{Claim: s.Claim, Deleting: s.ClaimDeleting}
			}
		}
		for i := range s.Snapshots {
			if s.Snapshots[i].Uncut() {
				g.Parts = append(g.Parts, nil)
			} else {
				g.Parts = append(g.Parts, []Part{{UID: "a", Ready: true}, {UID: "b", Ready: true}})
			}
		}
		one, group := Decide(p, noon, s), DecideGroup(p, noon, g)
		for i := range one.Verdicts {
			if s.Snapshots[i].ReadyToUse && one.Verdicts[i].Delete() != group.Verdicts[i].Delete() {
				t.Fatalf("%d: %v of one, %v of a group: %+v", i, one.Verdicts[i], group.Verdicts[i], g)
			}
		}
	})
}
