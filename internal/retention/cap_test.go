// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: RET-5.
func TestDecideDeletesBeyondMaxCount(t *testing.T) {
	testDecide(t, map[string]decideCase{
		"keeps as many as maxCount": {
			policy: Policy{MaxCount: 2},
			want:   []expected{ready(day).want(NoLimit), ready(2 * day).want(NoLimit)},
		},
		"deletes the oldest first": {
			policy: Policy{MaxCount: 2},
			want:   []expected{ready(4 * day).want(OverCap), ready(day).want(NoLimit), ready(3 * day).want(OverCap), ready(2 * day).want(NoLimit)},
		},
		"goes by slot, not by creation": {
			policy: Policy{MaxCount: 1},
			want:   []expected{ready(2 * day).slot(noon.Add(-5 * day)).want(OverCap), ready(3 * day).want(NoLimit)},
		},
		"deletes within the TTL too": {
			policy: Policy{TTL: 10 * day, MaxCount: 1},
			want:   []expected{ready(day).want(WithinTTL), ready(2 * day).want(OverCap), ready(11 * day).want(Expired)},
		},
		"does not count expired ones": {
			policy: Policy{TTL: 10 * day, MaxCount: 2},
			want:   []expected{ready(day).want(WithinTTL), ready(2 * day).want(WithinTTL), ready(11 * day).want(Expired)},
		},
		"deletes those kept by age before those kept by a tier": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1, Yearly: 2}, MaxCount: 3},
			want: []expected{
				ready(day).want(KeptLast), ready(2 * day).want(WithinTTL), ready(3 * day).want(OverCap), ready(4 * day).want(OverCap), ready(300 * day).want(KeptYearly),
			},
		},
		"deletes those kept by a tier next, the oldest first": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1, Monthly: 3}, MaxCount: 2},
			want: []expected{
				ready(day).want(KeptLast), ready(2 * day).want(OverCap), ready(40 * day).want(KeptMonthly), ready(80 * day).want(OverCap),
			},
		},
		"does not count held ones": {
			policy: Policy{MaxCount: 1},
			want: []expected{
				ready(day).want(NoLimit), ready(2 * day).held(Forever).want(HeldByAnnotation), ready(3 * day).restoring().want(HeldByRestore), ready(4 * day).want(OverCap),
			},
		},
		"does not count unready ones": {
			policy: Policy{TTL: 10 * day, MaxCount: 1},
			want: []expected{
				uploading(time.Hour).want(HeldInProgress), inError(2 * time.Hour).want(WithinTTL), uncut(3 * time.Hour).want(WithinTTL), ready(day).want(WithinTTL), ready(2 * day).want(OverCap),
			},
		},
		"does not count terminating ones": {
			policy: Policy{MaxCount: 1},
			want:   []expected{ready(time.Hour).deleting().want(BeingDeleted), ready(day).want(NoLimit), ready(2 * day).want(OverCap)},
		},
		"never deletes the newest of a selected PVC": { // kept by age only, the others by a tier
			policy: Policy{TTL: 10 * day, Keep: Tiers{Daily: 2}, MaxCount: 2},
			want: []expected{
				ready(2 * day).slot(noon).want(WithinTTL), ready(day).want(KeptDaily), ready(2*day - time.Hour).want(OverCap),
			},
		},
		"never deletes the newest that is not terminating": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Daily: 2}, MaxCount: 2},
			want: []expected{
				ready(time.Hour).slot(noon).named("z").deleting().want(BeingDeleted),
				ready(2 * day).slot(noon).want(WithinTTL), ready(day).want(KeptDaily), ready(2*day - time.Hour).want(OverCap),
			},
		},
		"may delete the newest of a detached series": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Daily: 2}, MaxCount: 2}, series: Series{Claim: Unselected},
			want: []expected{
				ready(2 * day).slot(noon).want(OverCap), ready(day).want(KeptDaily), ready(2*day - time.Hour).want(KeptDaily),
			},
		},
		"deletes the oldest although the newest is not ready": {
			policy: Policy{TTL: 10 * day, MaxCount: 1},
			want:   []expected{uploading(time.Hour).want(HeldInProgress), ready(day).want(WithinTTL), ready(2 * day).want(OverCap)},
		},
		"leaves more than maxCount if the floor needs them": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1, Monthly: 2}, MaxCount: 1, MinReady: 2},
			want:   []expected{ready(day).want(KeptLast), ready(2 * day).want(Floor), ready(3 * day).want(OverCap), ready(40 * day).want(OverCap)},
		},
	})
}
