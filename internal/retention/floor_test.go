// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import "testing"

// Contract: RET-6.
func TestDecideFloor(t *testing.T) {
	ttl := Policy{TTL: 10 * day, MinReady: 2, Detached: Detached{MinReady: 1}}
	runDecide(t, map[string]decideCase{
		"the newest minReady ready ones stay, however old": {
			policy:    ttl,
			want:      []judged{ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired)},
			checkRest: true, wantFloor: []int{0, 1},
		},
		"not selected, but there: the same": {
			policy: ttl, series: Series{Claim: Unselected},
			want:      []judged{ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired)},
			checkRest: true, wantFloor: []int{0, 1},
		},
		"being deleted, but there: the same": {
			policy: ttl, series: Series{ClaimDeleting: true},
			want: []judged{ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired)},
		},
		"gone: detached.minReady": {
			policy: ttl, series: Series{Claim: Gone},
			want:      []judged{ready(400 * day).want(Floor), ready(401 * day).want(Expired)},
			checkRest: true, wantFloor: []int{0},
		},
		"unready ones don't count": {
			policy: ttl,
			want: []judged{
				erring(day).want(WithinTTL), uncut(2 * day).want(WithinTTL), uploading(30 * day).want(HeldInProgress),
				ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired),
			},
		},
		"terminating ones don't count": {
			policy: ttl,
			want: []judged{
				ready(day).deleting().want(BeingDeleted), ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired),
			},
			checkRest: true, wantFloor: []int{1, 2},
		},
		"held ready ones are ready, and count": {
			policy: ttl,
			want: []judged{
				ready(400 * day).held(HoldAnnotation).want(HeldByAnnotation), ready(401 * day).want(Floor), ready(402 * day).want(Expired),
			},
			checkRest: true, wantFloor: []int{0, 1},
		},
		"fewer than minReady": {
			policy: ttl, want: []judged{ready(400 * day).want(Floor)},
			checkRest: true, wantFloor: []int{0},
		},
		"the newest by slot, not by the driver's time": {
			policy: Policy{TTL: day, MinReady: 1},
			want: []judged{
				ready(10 * day).cut(noon.Add(-3 * day)).want(Expired), ready(9 * day).want(Floor),
			},
		},
		"it overrides the cap": {
			policy: Policy{MaxCount: 1, MinReady: 3},
			want:   []judged{ready(day).want(NoLimit), ready(2 * day).want(Floor), ready(3 * day).want(Floor), ready(4 * day).want(OverCap)},
		},
		"minReady 0": {
			policy: Policy{TTL: day}, want: []judged{ready(2 * day).want(Expired)},
			checkRest: true,
		},
		"a negative minReady is none": {
			policy: Policy{TTL: day, MinReady: -1}, want: []judged{ready(2 * day).want(Expired)},
		},
	})
}
