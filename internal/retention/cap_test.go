// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: RET-5.
func TestDecideCap(t *testing.T) {
	runDecide(t, map[string]decideCase{
		"at the cap": {
			policy: Policy{MaxCount: 2},
			want:   []judged{ready(day).want(NoLimit), ready(2 * day).want(NoLimit)},
		},
		"beyond it the oldest go first": {
			policy: Policy{MaxCount: 2},
			want:   []judged{ready(4 * day).want(OverCap), ready(day).want(NoLimit), ready(3 * day).want(OverCap), ready(2 * day).want(NoLimit)},
		},
		"within the TTL too": {
			policy: Policy{TTL: 10 * day, MaxCount: 1},
			want:   []judged{ready(day).want(WithinTTL), ready(2 * day).want(OverCap), ready(11 * day).want(Expired)},
		},
		"expired ones don't count": {
			policy: Policy{TTL: 10 * day, MaxCount: 2},
			want:   []judged{ready(day).want(WithinTTL), ready(2 * day).want(WithinTTL), ready(11 * day).want(Expired)},
		},
		"those kept by age before those kept by a tier": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1, Yearly: 2}, MaxCount: 3},
			want: []judged{
				ready(day).want(KeptLast), ready(2 * day).want(WithinTTL), ready(3 * day).want(OverCap), ready(4 * day).want(OverCap), ready(300 * day).want(KeptYearly),
			},
		},
		"then those kept by a tier, the oldest first": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1, Monthly: 3}, MaxCount: 2},
			want: []judged{
				ready(day).want(KeptLast), ready(2 * day).want(OverCap), ready(40 * day).want(KeptMonthly), ready(80 * day).want(OverCap),
			},
		},
		"held ones don't count": {
			policy: Policy{MaxCount: 1},
			want: []judged{
				ready(day).want(NoLimit), ready(2 * day).held(HoldAnnotation).want(HeldByAnnotation), ready(3 * day).held(HoldRestore).want(HeldByRestore), ready(4 * day).want(OverCap),
			},
		},
		"unready ones don't count": {
			policy: Policy{TTL: 10 * day, MaxCount: 1},
			want: []judged{
				uploading(time.Hour).want(HeldInProgress), erring(2 * time.Hour).want(WithinTTL), uncut(3 * time.Hour).want(WithinTTL), ready(day).want(WithinTTL), ready(2 * day).want(OverCap),
			},
		},
		"terminating ones don't count": {
			policy: Policy{MaxCount: 1},
			want:   []judged{ready(time.Hour).deleting().want(BeingDeleted), ready(day).want(NoLimit), ready(2 * day).want(OverCap)},
		},
		"the newest of a selected PVC is never taken": { // kept by age only, the others by a tier
			policy: Policy{TTL: 10 * day, Keep: Tiers{Daily: 2}, MaxCount: 2},
			want: []judged{
				ready(2 * day).slot(noon).want(WithinTTL), ready(day).want(KeptDaily), ready(2*day - time.Hour).want(OverCap),
			},
		},
		"nor the newest that stays, while a newer one terminates": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Daily: 2}, MaxCount: 2},
			want: []judged{
				ready(time.Hour).slot(noon).named("z").deleting().want(BeingDeleted),
				ready(2 * day).slot(noon).want(WithinTTL), ready(day).want(KeptDaily), ready(2*day - time.Hour).want(OverCap),
			},
		},
		"that of a detached one may be": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Daily: 2}, MaxCount: 2}, series: Series{Claim: Unselected},
			want: []judged{
				ready(2 * day).slot(noon).want(OverCap), ready(day).want(KeptDaily), ready(2*day - time.Hour).want(KeptDaily),
			},
		},
		"the newest may be one that is not ready": {
			policy: Policy{TTL: 10 * day, MaxCount: 1},
			want:   []judged{uploading(time.Hour).want(HeldInProgress), ready(day).want(WithinTTL), ready(2 * day).want(OverCap)},
		},
		"with the floor a few more than maxCount may stay": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1, Monthly: 2}, MaxCount: 1, MinReady: 2},
			want:   []judged{ready(day).want(KeptLast), ready(2 * day).want(Floor), ready(3 * day).want(OverCap), ready(40 * day).want(OverCap)},
		},
	})
}

// Contract: RET-9.
func TestDecideDetached(t *testing.T) {
	same := Policy{TTL: 10 * day, Keep: Tiers{Yearly: 2}, MaxCount: 3}
	own := same
	own.Detached = Detached{TTL: 30 * day}
	of := func(y, a, b, c, d Verdict) []judged {
		return []judged{ready(day).want(y), ready(2 * day).want(a), ready(20 * day).want(b), ready(31 * day).want(c), ready(300 * day).want(d)}
	}
	runDecide(t, map[string]decideCase{
		"selected": {policy: own, want: of(KeptYearly, WithinTTL, Expired, Expired, KeptYearly)},
		"unselected: the usual TTL, tiers and cap": {policy: same, series: Series{Claim: Unselected}, want: of(KeptYearly, WithinTTL, Expired, Expired, KeptYearly)},
		"gone: the usual TTL, tiers and cap":       {policy: same, series: Series{Claim: Gone}, want: of(KeptYearly, WithinTTL, Expired, Expired, KeptYearly)},
		"unselected: its own TTL instead of both":  {policy: own, series: Series{Claim: Unselected}, want: of(WithinTTL, WithinTTL, WithinTTL, Expired, Expired)},
		"gone: its own TTL instead of both":        {policy: own, series: Series{Claim: Gone}, want: of(WithinTTL, WithinTTL, WithinTTL, Expired, Expired)},
		"its own TTL where there is no other": {
			policy: Policy{Detached: Detached{TTL: 30 * day}}, series: Series{Claim: Gone}, want: of(WithinTTL, WithinTTL, WithinTTL, Expired, Expired),
		},
		"its own TTL may be the shorter": {
			policy: Policy{TTL: 10 * day, Detached: Detached{TTL: day}}, series: Series{Claim: Gone}, want: of(Expired, Expired, Expired, Expired, Expired),
		},
		"the cap stays": {
			policy: Policy{MaxCount: 1, Detached: Detached{TTL: 30 * day}}, series: Series{Claim: Gone}, want: of(WithinTTL, OverCap, OverCap, Expired, Expired),
		},
		"the last of a PVC that is gone expires too": {
			policy: Policy{TTL: 10 * day, MinReady: 5}, series: Series{Claim: Gone}, want: of(WithinTTL, WithinTTL, Expired, Expired, Expired),
		},
		"nothing limits": {series: Series{Claim: Gone}, want: of(NoLimit, NoLimit, NoLimit, NoLimit, NoLimit)},
	})
}

// What a verdict is called and does must not shift when one is added.
func TestVerdictNames(t *testing.T) {
	if len(verdictNames) != int(Superseded)+1 {
		t.Fatalf("%d names for %d verdicts", len(verdictNames), Superseded+1)
	}
	for v := NoLimit; v <= Superseded; v++ {
		deletes := v == Expired || v == NotSelected || v == OverCap || v == Replaced || v == ClaimGone || v == Superseded
		if v.Delete() != deletes {
			t.Errorf("%v.Delete() = %v", v, v.Delete())
		}
	}
	for v, want := range map[Verdict]string{NoLimit: "NoLimit", KeptYearly: "KeptYearly", Floor: "Floor", Expired: "Expired", Superseded: "Superseded"} {
		if v.String() != want {
			t.Errorf("%d.String() = %v, want %v", v, v, want)
		}
	}
}
