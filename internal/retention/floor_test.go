// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Contract: RET-6.
func TestDecideKeepsTheFloor(t *testing.T) {
	ttl := Policy{TTL: 10 * day, MinReady: 2, Detached: Detached{MinReady: 1}}
	testDecide(t, map[string]decideCase{
		"keeps the newest minReady ready ones, however old": {
			policy:   ttl,
			want:     []expected{ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired)},
			checkAll: true, wantFloor: []int{0, 1},
		},
		"keeps minReady for a PVC that is not selected": {
			policy: ttl, series: Series{Claim: Unselected},
			want:     []expected{ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired)},
			checkAll: true, wantFloor: []int{0, 1},
		},
		"keeps minReady for a PVC that is being deleted": {
			policy: ttl, series: Series{ClaimDeleting: true},
			want: []expected{ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired)},
		},
		"keeps detached.minReady for a PVC that is gone": {
			policy: ttl, series: Series{Claim: Gone},
			want:     []expected{ready(400 * day).want(Floor), ready(401 * day).want(Expired)},
			checkAll: true, wantFloor: []int{0},
		},
		"does not count unready ones": {
			policy: ttl,
			want: []expected{
				inError(day).want(WithinTTL), uncut(2 * day).want(WithinTTL), uploading(30 * day).want(HeldInProgress),
				ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired),
			},
		},
		"does not count terminating ones": {
			policy: ttl,
			want: []expected{
				ready(day).deleting().want(BeingDeleted), ready(400 * day).want(Floor), ready(401 * day).want(Floor), ready(402 * day).want(Expired),
			},
			checkAll: true, wantFloor: []int{1, 2},
		},
		"counts held ready ones": {
			policy: ttl,
			want: []expected{
				ready(400 * day).held(Forever).want(HeldByAnnotation), ready(401 * day).want(Floor), ready(402 * day).want(Expired),
			},
			checkAll: true, wantFloor: []int{0, 1},
		},
		"keeps all of fewer than minReady": {
			policy: ttl, want: []expected{ready(400 * day).want(Floor)},
			checkAll: true, wantFloor: []int{0},
		},
		"goes by slot, not by the driver's creation time": {
			policy: Policy{TTL: day, MinReady: 1},
			want: []expected{
				ready(10 * day).cut(noon.Add(-3 * day)).want(Expired), ready(9 * day).want(Floor),
			},
		},
		"goes by slot, not by creation": {
			policy: Policy{TTL: day, MinReady: 1},
			want:   []expected{ready(9 * day).slot(noon.Add(-20 * day)).want(Expired), ready(10 * day).want(Floor)},
		},
		"overrides the cap": {
			policy: Policy{MaxCount: 1, MinReady: 3},
			want:   []expected{ready(day).want(NoLimit), ready(2 * day).want(Floor), ready(3 * day).want(Floor), ready(4 * day).want(OverCap)},
		},
		"keeps none with minReady 0": {
			policy: Policy{TTL: day}, want: []expected{ready(2 * day).want(Expired)},
			checkAll: true,
		},
		"keeps none with a negative minReady": {
			policy: Policy{TTL: day, MinReady: -1}, want: []expected{ready(2 * day).want(Expired)},
		},
	})
}

// Contract: RET-7.
func TestDecideDeletesSupersededSnapshots(t *testing.T) {
	tiers := Policy{Keep: Tiers{Last: 2}, MinReady: 1}
	testDecide(t, map[string]decideCase{
		"deletes a cut failed one older than the oldest kept ready one": {
			policy: tiers,
			want: []expected{
				ready(day).want(KeptLast), inError(36 * time.Hour).want(Unready),
				ready(2 * day).want(KeptLast), inError(60 * time.Hour).want(Superseded), ready(3 * day).want(NotSelected),
			},
			checkAll: true, wantFloor: []int{0},
		},
		"deletes one that lost its readiness": {
			policy: tiers,
			want: []expected{
				ready(day).want(KeptLast), uploading(36 * time.Hour).want(Unready),
				ready(2 * day).want(KeptLast), uploading(3 * day).want(Superseded),
			},
		},
		"keeps one younger than readyDeadline": {
			policy:   Policy{Keep: Tiers{Last: 1}, MinReady: 1, ReadyDeadline: 4 * day},
			want:     []expected{ready(day).want(KeptLast), inError(3 * day).want(Unready), inError(4 * day).want(Superseded)},
			checkAll: true, wantFloor: []int{0}, wantNext: day,
		},
		"keeps all while none is ready": {
			policy: tiers,
			want:   []expected{inError(2 * day).want(Unready), inError(3 * day).want(Unready)},
		},
		"compares with held ready ones too": {
			policy: tiers,
			want: []expected{
				ready(day).want(KeptLast), ready(2 * day).want(KeptLast),
				inError(3 * day).want(Unready), ready(4 * day).held(Forever).want(HeldByAnnotation), inError(5 * day).want(Superseded),
			},
		},
		"keeps the newest of a selected PVC, or its slot would be due again": {
			policy: tiers,
			want:   []expected{inError(3 * day).slot(noon).want(Unready), ready(day).want(KeptLast), inError(4 * day).want(Superseded)},
		},
		"keeps an uncut one, which is replaced instead": {
			policy: tiers,
			want:   []expected{ready(day).want(KeptLast), uncut(3 * day).want(Unready)},
		},
		"deletes with a cap alone": {
			policy: Policy{MaxCount: 1, MinReady: 1},
			want:   []expected{ready(day).want(NoLimit), ready(2 * day).want(OverCap), inError(3 * day).want(Superseded)},
		},
		"returns the ready one it compared with as the floor if there is no other": {
			policy:   Policy{Keep: Tiers{Last: 1}},
			want:     []expected{ready(day).want(KeptLast), inError(3 * day).want(Superseded)},
			checkAll: true, wantFloor: []int{0},
		},
		"leaves it to the TTL if there is one": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1}},
			want:   []expected{ready(day).want(KeptLast), inError(3 * day).want(WithinTTL)},
		},
	})
}

// Contract: LIMIT-6.
func TestDecideMakesPlaceInAFullVolume(t *testing.T) {
	policy := Policy{TTL: 10 * day, MinReady: 1, ReadyDeadline: time.Hour}
	full := Series{VolumeFull: true, Slot: noon}
	failed := func(age time.Duration) Snapshot { return inError(age).since(noon.Add(-age)) }
	testDecide(t, map[string]decideCase{
		"of what failed, cut": {
			policy: policy, series: full,
			want: []expected{failed(2 * time.Hour).want(Superseded), ready(3 * time.Hour).want(WithinTTL), failed(4 * time.Hour).want(Superseded)},
		},
		"not of what is held": {
			policy: policy, series: full,
			want: []expected{failed(2 * time.Hour).held(Forever).want(HeldByAnnotation), failed(3 * time.Hour).restoring().want(HeldByRestore)},
		},
		"not of what may still become ready": {
			policy: policy, series: full,
			want: []expected{
				failed(time.Hour - 1).want(WithinTTL), uploading(2 * time.Hour).want(HeldInProgress),
				inError(3 * time.Hour).since(noon.Add(-time.Minute)).want(Recovering), ready(4 * time.Hour).want(WithinTTL),
			},
		},
		"only for a slot that is due": {
			policy: policy, series: Series{VolumeFull: true, Slot: noon.Add(-2 * time.Hour)},
			want: []expected{failed(2 * time.Hour).want(WithinTTL)},
		},
		"only if it is full": {policy: policy, series: Series{Slot: noon}, want: []expected{failed(2 * time.Hour).want(WithinTTL)}},
		"only of a selected PVC": {
			policy: policy, series: Series{VolumeFull: true, Slot: noon, Claim: Unselected}, want: []expected{failed(2 * time.Hour).want(WithinTTL)},
		},
	})
}

// A full volume costs nothing but snapshots that failed, and only while a slot is due.
//
// Contract: LIMIT-6.
func TestAFullVolumeCostsOnlyWhatFailed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		s.VolumeFull = false
		before := Decide(p, noon, s)
		s.VolumeFull = true
		after := Decide(p, noon, s)
		for i, v := range after.Verdicts {
			x := &s.Snapshots[i]
			if v.Delete() != before.Verdicts[i].Delete() && (v != Superseded || !before.Take.Due || x.State(noon, p.ReadyDeadline) != Failed || x.Uncut()) {
				t.Fatalf("%+v: %v, and %v if the volume is full", x, before.Verdicts[i], v)
			}
		}
		if after.Take != before.Take || !slices.Equal(after.Floor, before.Floor) {
			t.Fatalf("takes %+v with floor %v, and %+v with %v if the volume is full", before.Take, before.Floor, after.Take, after.Floor)
		}
	})
}
