// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "testing"

// Contract: RET-9.
func TestDecideAppliesDetachedLimits(t *testing.T) {
	same := Policy{TTL: 10 * day, Keep: Tiers{Yearly: 2}, MaxCount: 3}
	own := same
	own.Detached = Detached{TTL: 30 * day}
	of := func(y, a, b, c, d Verdict) []expected {
		return []expected{ready(day).want(y), ready(2 * day).want(a), ready(20 * day).want(b), ready(31 * day).want(c), ready(300 * day).want(d)}
	}
	testDecide(t, map[string]decideCase{
		"does not apply them to a selected PVC":                      {policy: own, want: of(KeptYearly, WithinTTL, Expired, Expired, KeptYearly)},
		"applies the usual TTL, tiers and cap to an unselected PVC":  {policy: same, series: Series{Claim: Unselected}, want: of(KeptYearly, WithinTTL, Expired, Expired, KeptYearly)},
		"applies the usual TTL, tiers and cap to a PVC that is gone": {policy: same, series: Series{Claim: Gone}, want: of(KeptYearly, WithinTTL, Expired, Expired, KeptYearly)},
		"replaces TTL and tiers for an unselected PVC":               {policy: own, series: Series{Claim: Unselected}, want: of(WithinTTL, WithinTTL, WithinTTL, Expired, Expired)},
		"replaces TTL and tiers for a PVC that is gone":              {policy: own, series: Series{Claim: Gone}, want: of(WithinTTL, WithinTTL, WithinTTL, Expired, Expired)},
		"applies detached.snapshotTTL without snapshotTTL": {
			policy: Policy{Detached: Detached{TTL: 30 * day}}, series: Series{Claim: Gone}, want: of(WithinTTL, WithinTTL, WithinTTL, Expired, Expired),
		},
		"applies a detached.snapshotTTL shorter than snapshotTTL": {
			policy: Policy{TTL: 10 * day, Detached: Detached{TTL: day}}, series: Series{Claim: Gone}, want: of(Expired, Expired, Expired, Expired, Expired),
		},
		"applies the cap with detached.snapshotTTL": {
			policy: Policy{MaxCount: 1, Detached: Detached{TTL: 30 * day}}, series: Series{Claim: Gone}, want: of(WithinTTL, OverCap, OverCap, Expired, Expired),
		},
		"deletes the last snapshot of a PVC that is gone without detached.minReady": {
			policy: Policy{TTL: 10 * day, MinReady: 5}, series: Series{Claim: Gone}, want: of(WithinTTL, WithinTTL, Expired, Expired, Expired),
		},
		"keeps everything without any limit": {series: Series{Claim: Gone}, want: of(NoLimit, NoLimit, NoLimit, NoLimit, NoLimit)},
	})
}
