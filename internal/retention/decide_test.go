// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: RET-2, RET-4.
func TestDecideDeletesBeyondTTL(t *testing.T) {
	ttl := Policy{TTL: 10 * day}
	testDecide(t, map[string]decideCase{
		"returns nothing for an empty series": {policy: ttl, checkAll: true},
		"keeps everything with neither TTL nor tiers": {
			want:     []expected{ready(9000 * day).want(NoLimit), inError(9001 * day).want(Unready), uncut(9002 * day).want(Unready)},
			checkAll: true,
		},
		"keeps a snapshot younger than the TTL": {
			policy:   ttl,
			want:     []expected{ready(time.Hour).want(WithinTTL), ready(10*day - 1).want(WithinTTL)},
			checkAll: true, wantNext: 1,
		},
		"deletes a snapshot as old as the TTL": {
			policy:   ttl,
			want:     []expected{ready(time.Hour).want(WithinTTL), ready(10 * day).want(Expired), ready(20 * day).want(Expired)},
			checkAll: true, wantNext: 10*day - time.Hour,
		},
		"counts age from a late cut": {
			policy:   ttl,
			want:     []expected{ready(11 * day).cut(noon.Add(-9 * day)).want(WithinTTL)},
			checkAll: true, wantNext: day,
		},
		"ignores a driver's creation time of 1970": {
			policy: ttl,
			want:   []expected{ready(9 * day).cut(time.Unix(0, 0)).want(WithinTTL)},
		},
		"ignores a driver's creation time of next year": {
			policy: ttl,
			want:   []expected{ready(11 * day).cut(noon.AddDate(1, 0, 0)).want(Expired)},
		},
		"changes next when a future creation time arrives": {
			policy:   ttl,
			want:     []expected{ready(11 * day).cut(noon.Add(time.Hour)).want(Expired)},
			checkAll: true, wantNext: time.Hour,
		},
		"changes next when a future scheduled-at arrives": {
			want:     []expected{ready(11 * day).slot(noon.Add(time.Hour)).want(NoLimit)},
			checkAll: true, wantNext: time.Hour,
		},
		"keeps the newest of a selected PVC until its slot is beyond the TTL": { // the API server's clock is behind
			policy:   ttl,
			want:     []expected{ready(10*day + 1).slot(noon.Add(-10*day + time.Second)).want(WithinTTL)},
			checkAll: true, wantNext: time.Second,
		},
		"deletes the newest of a detached series by its age": {
			policy: ttl, series: Series{Claim: Unselected},
			want: []expected{ready(10*day + 1).slot(noon.Add(-10*day + time.Second)).want(Expired)},
		},
		"deletes any but the newest by its age": {
			policy: ttl,
			want: []expected{
				ready(9 * day).want(WithinTTL), ready(10*day + 1).slot(noon.Add(-10*day + time.Second)).want(Expired),
			},
		},
		"deletes unready snapshots beyond the TTL": {
			policy: ttl,
			want: []expected{
				inError(day).want(WithinTTL), inError(11 * day).want(Expired),
				uncut(9 * day).want(WithinTTL), uncut(12 * day).want(Expired),
			},
		},
		"does not delete a terminating snapshot again": {
			policy:   ttl,
			want:     []expected{ready(20 * day).deleting().want(BeingDeleted), uncut(20 * day).deleting().want(BeingDeleted)},
			checkAll: true,
		},
	})
}

// Contract: RET-1.
func TestDecideKeepsHeldSnapshots(t *testing.T) {
	ttl := Policy{TTL: 10 * day}
	testDecide(t, map[string]decideCase{
		"keeps a snapshot with the hold annotation": {
			policy: ttl,
			want:   []expected{ready(20 * day).held(Forever).want(HeldByAnnotation)},
		},
		"keeps one until the time in the annotation, and deletes it from then on": {
			policy: ttl,
			want: []expected{
				ready(20 * day).held(noon.Add(time.Hour)).want(HeldByAnnotation), ready(21 * day).held(noon).want(Expired),
				ready(22 * day).held(noon.Add(-1)).want(Expired), ready(23 * day).held(noon.Add(2 * time.Hour)).restoring().want(HeldByAnnotation),
			},
			checkAll: true, wantNext: time.Hour,
		},
		"keeps the source of a Pending PVC when its hold has ended": {
			policy: ttl,
			want:   []expected{ready(20 * day).held(noon).restoring().want(HeldByRestore)},
		},
		"keeps the source of a Pending PVC": {
			policy: ttl,
			want:   []expected{ready(20 * day).restoring().want(HeldByRestore)},
		},
		"keeps a slow upload beyond the TTL": {
			policy: ttl,
			want:   []expected{ready(30 * day).want(Expired), uploading(20 * day).want(HeldInProgress)},
		},
		"keeps an uncut snapshot until readyDeadline, whatever the TTL": {
			policy:   Policy{TTL: time.Minute},
			want:     []expected{uncut(59 * time.Minute).want(HeldInProgress)},
			checkAll: true, wantNext: time.Minute,
		},
		"does not hold a cut snapshot in error": {
			policy: Policy{TTL: 10 * time.Minute},
			want:   []expected{inError(30 * time.Minute).want(Expired)},
		},
		"does not hold one that lost its readiness, as a newer ready one shows": {
			policy: ttl,
			want:   []expected{ready(time.Hour).want(WithinTTL), uploading(9 * day).want(WithinTTL), uploading(11 * day).want(Expired)},
		},
		"keeps the source of a restore although the PVC is gone": {
			series: Series{Claim: Gone},
			want:   []expected{inError(time.Minute).restoring().want(HeldByRestore)},
		},
	})
}

func TestDecideDeletesUncutSnapshots(t *testing.T) {
	testDecide(t, map[string]decideCase{
		"replaces a failed one when a slot is due": {
			series: Series{Slot: noon},
			want:   []expected{ready(day).want(NoLimit), uncut(time.Hour).want(Replaced)},
		},
		"replaces a failed one although it is held, because it has no data": {
			series: Series{Slot: noon},
			want:   []expected{uncut(2 * time.Hour).held(Forever).want(Replaced)},
		},
		"replaces a failed one although a PVC waits for its data, because it has none": {
			series: Series{Slot: noon},
			want:   []expected{uncut(2 * time.Hour).restoring().want(Replaced)},
		},
		"deletes one that is held when the PVC is gone": {
			series: Series{Claim: Gone},
			want:   []expected{uncut(time.Minute).held(Forever).want(ClaimGone)},
		},
		"deletes one that a PVC is to be restored from when its own PVC is gone": {
			series: Series{Claim: Gone},
			want:   []expected{uncut(time.Minute).restoring().want(ClaimGone)},
		},
		"keeps one that is held and in progress": {
			series: Series{Slot: noon},
			want:   []expected{uncut(time.Minute).held(Forever).want(HeldInProgress)},
		},
		"keeps a failed one while no slot is due": {
			want: []expected{uncut(2 * time.Hour).want(Unready)},
		},
		"replaces every failed one, because each blocks": {
			series: Series{Slot: noon},
			want:   []expected{ready(time.Hour).want(NoLimit), uncut(6 * time.Hour).want(Replaced), uncut(12 * time.Hour).want(Replaced)},
		},
		"does not replace a young one": {
			series:   Series{Slot: noon},
			want:     []expected{uncut(59 * time.Minute).want(HeldInProgress)},
			checkAll: true, wantNext: time.Minute,
		},
		"does not replace a cut failed one": {
			series: Series{Slot: noon},
			want:   []expected{inError(2 * time.Hour).want(Unready)},
		},
		"does not replace in a detached series, even with a slot": {
			series: Series{Claim: Unselected, Slot: noon},
			want:   []expected{uncut(2 * time.Hour).want(Unready)},
		},
		"deletes at once while the PVC is being deleted": {
			series: Series{ClaimDeleting: true},
			want:   []expected{uncut(time.Second).want(ClaimGone), uncut(2 * time.Hour).want(ClaimGone)},
		},
		"deletes at once while an unselected PVC is being deleted": {
			series: Series{Claim: Unselected, ClaimDeleting: true},
			want:   []expected{uncut(time.Second).want(ClaimGone)},
		},
		"deletes at once when the PVC is gone": {
			series: Series{Claim: Gone},
			want:   []expected{uncut(time.Second).want(ClaimGone)},
		},
		"lets it finish when the PVC is not selected": {
			series: Series{Claim: Unselected},
			want:   []expected{uncut(time.Second).want(HeldInProgress)},
		},
		"keeps cut ones when the PVC is gone": {
			series: Series{Claim: Gone},
			want:   []expected{uploading(time.Second).want(HeldInProgress), inError(time.Minute).want(Unready)},
		},
		"keeps a ready one without a creation time when the PVC is gone": {
			series: Series{Claim: Gone},
			want:   []expected{readyUncut(day).want(NoLimit)},
		},
	})
}

// The snapshot controller keeps a PVC while one of its snapshots is not ready.
//
// Contract: ONE-8.
func TestDecideFreesItsClaim(t *testing.T) {
	tiers := Policy{MinReady: 1, Keep: Tiers{Daily: 7, Weekly: 4}}
	two := Policy{MinReady: 2, TTL: 10 * day}
	deleting := Series{ClaimDeleting: true}
	testDecide(t, map[string]decideCase{
		"deletes a failed one with a newer ready one": {
			policy: tiers, series: deleting, checkAll: true, wantFloor: []int{0},
			want: []expected{ready(day).want(KeptDaily), inError(2 * day).want(KeepsClaim), ready(3 * day).want(KeptDaily)},
		},
		"deletes the newest, which failed, with minReady older ready ones": {
			policy: tiers, series: deleting, checkAll: true, wantFloor: []int{1},
			want: []expected{inError(day).want(KeepsClaim), ready(2 * day).want(KeptDaily)},
		},
		"deletes one within the TTL": {
			policy: two, series: deleting,
			want: []expected{ready(day).want(WithinTTL), inError(2 * day).want(KeepsClaim)},
		},
		"keeps the newest while fewer than minReady are ready": {
			policy: two, series: deleting,
			want: []expected{inError(day).want(WithinTTL), ready(2 * day).want(WithinTTL)},
		},
		"keeps the only one": {
			policy: tiers, series: deleting, want: []expected{inError(day).want(Unready)},
		},
		"does not count a terminating one": {
			policy: tiers, series: deleting, want: []expected{ready(time.Hour).deleting().want(BeingDeleted), inError(day).want(Unready)},
		},
		"deletes it with a floor of zero": {
			series: deleting, want: []expected{inError(day).want(KeepsClaim)},
		},
		"deletes it of a PVC that is not selected": {
			policy: tiers, series: Series{Claim: Unselected, ClaimDeleting: true},
			want: []expected{ready(day).want(KeptDaily), inError(2 * day).want(KeepsClaim), ready(3 * day).want(KeptDaily)},
		},
		"keeps it while the PVC is not being deleted": {
			policy: two, want: []expected{ready(day).want(WithinTTL), inError(2 * day).want(WithinTTL)},
		},
		"keeps it while the error is young": {
			policy: tiers, series: deleting,
			want: []expected{ready(day).want(KeptDaily), inError(2 * day).since(noon.Add(-time.Minute)).want(Recovering)},
		},
		"keeps one that is held": {
			policy: tiers, series: deleting,
			want: []expected{ready(day).want(KeptDaily), inError(2 * day).held(Forever).want(HeldByAnnotation)},
		},
		"keeps the source of a restore": {
			policy: tiers, series: deleting,
			want: []expected{ready(day).want(KeptDaily), inError(2 * day).restoring().want(HeldByRestore)},
		},
		"keeps one in progress": {
			policy: tiers, series: deleting, want: []expected{uploading(day).want(HeldInProgress), ready(2 * day).want(KeptDaily)},
		},
	})
}
