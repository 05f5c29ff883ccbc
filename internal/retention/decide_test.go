// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"testing"
	"time"
)

// Contract: RET-2, RET-4.
func TestDecideAge(t *testing.T) {
	ttl := Policy{TTL: 10 * day}
	runDecide(t, map[string]decideCase{
		"an empty series": {policy: ttl, checkRest: true},
		"with neither TTL nor tiers everything is kept": {
			want:      []judged{ready(9000 * day).want(NoLimit), erring(9001 * day).want(Unready), uncut(9002 * day).want(Unready)},
			checkRest: true,
		},
		"age within snapshotTTL keeps": {
			policy:    ttl,
			want:      []judged{ready(time.Hour).want(WithinTTL), ready(10*day - 1).want(WithinTTL)},
			checkRest: true, wantNext: 1,
		},
		"age of snapshotTTL is beyond it": {
			policy:    ttl,
			want:      []judged{ready(time.Hour).want(WithinTTL), ready(10 * day).want(Expired), ready(20 * day).want(Expired)},
			checkRest: true, wantNext: 10*day - time.Hour,
		},
		"age counts from a late cut": {
			policy:    ttl,
			want:      []judged{ready(11 * day).cut(noon.Add(-9 * day)).want(WithinTTL)},
			checkRest: true, wantNext: day,
		},
		"a creation time of 1970 makes none older": {
			policy: ttl,
			want:   []judged{ready(9 * day).cut(time.Unix(0, 0)).want(WithinTTL)},
		},
		"a creation time of next year makes none younger": {
			policy: ttl,
			want:   []judged{ready(11 * day).cut(noon.AddDate(1, 0, 0)).want(Expired)},
		},
		"a creation time to come is looked at when it comes": {
			policy:    ttl,
			want:      []judged{ready(11 * day).cut(noon.Add(time.Hour)).want(Expired)},
			checkRest: true, wantNext: time.Hour,
		},
		"a scheduled-at to come is looked at when it comes": {
			want:      []judged{ready(11 * day).slot(noon.Add(time.Hour)).want(NoLimit)},
			checkRest: true, wantNext: time.Hour,
		},
		"the newest of a selected PVC not before its slot": { // the server's clock is behind
			policy:    ttl,
			want:      []judged{ready(10*day + 1).slot(noon.Add(-10*day + time.Second)).want(WithinTTL)},
			checkRest: true, wantNext: time.Second,
		},
		"that of a detached one goes by its age": {
			policy: ttl, series: Series{Claim: Unselected},
			want: []judged{ready(10*day + 1).slot(noon.Add(-10*day + time.Second)).want(Expired)},
		},
		"and so does any but the newest": {
			policy: ttl,
			want: []judged{
				ready(9 * day).want(WithinTTL), ready(10*day + 1).slot(noon.Add(-10*day + time.Second)).want(Expired),
			},
		},
		"unready ones go by age like others": {
			policy: ttl,
			want: []judged{
				erring(day).want(WithinTTL), erring(11 * day).want(Expired),
				uncut(9 * day).want(WithinTTL), uncut(12 * day).want(Expired),
			},
		},
		"terminating ones are going already": {
			policy:    ttl,
			want:      []judged{ready(20 * day).deleting().want(BeingDeleted), uncut(20 * day).deleting().want(BeingDeleted)},
			checkRest: true,
		},
	})
}

// Contract: RET-1.
func TestDecideHeld(t *testing.T) {
	ttl := Policy{TTL: 10 * day}
	runDecide(t, map[string]decideCase{
		"the hold annotation": {
			policy: ttl,
			want:   []judged{ready(20 * day).held(HoldAnnotation).want(HeldByAnnotation)},
		},
		"the source of a PVC that is still Pending": {
			policy: ttl,
			want:   []judged{ready(20 * day).held(HoldRestore).want(HeldByRestore)},
		},
		"a slow upload is never cut off by age": {
			policy: ttl,
			want:   []judged{ready(30 * day).want(Expired), uploading(20 * day).want(HeldInProgress)},
		},
		"uncut and younger than readyDeadline, whatever the TTL": {
			policy:    Policy{TTL: time.Minute},
			want:      []judged{uncut(59 * time.Minute).want(HeldInProgress)},
			checkRest: true, wantNext: time.Minute,
		},
		"cut and in error is not under way": {
			policy: Policy{TTL: 10 * time.Minute},
			want:   []judged{erring(30 * time.Minute).want(Expired)},
		},
		"what a ready one came after was no slow upload, but lost its readiness": {
			policy: ttl,
			want:   []judged{ready(time.Hour).want(WithinTTL), uploading(9 * day).want(WithinTTL), uploading(11 * day).want(Expired)},
		},
		"the hold annotation wins over a slot that is due": {
			series: Series{Slot: noon},
			want:   []judged{uncut(2 * time.Hour).held(HoldAnnotation).want(HeldByAnnotation)},
		},
		"and over a PVC that is gone": {
			series: Series{Claim: Gone},
			want:   []judged{uncut(time.Minute).held(HoldAnnotation).want(HeldByAnnotation)},
		},
		"a restore wins over them too": {
			series: Series{Claim: Gone},
			want:   []judged{uncut(time.Minute).held(HoldRestore).want(HeldByRestore)},
		},
	})
}

func TestDecideUncut(t *testing.T) {
	runDecide(t, map[string]decideCase{
		"failed: replaced when a slot is due": {
			series: Series{Slot: noon},
			want:   []judged{ready(day).want(NoLimit), uncut(time.Hour).want(Replaced)},
		},
		"failed: kept until then": {
			want: []judged{uncut(2 * time.Hour).want(Unready)},
		},
		"failed: any in the series, as any would block": {
			series: Series{Slot: noon},
			want:   []judged{ready(time.Hour).want(NoLimit), uncut(6 * time.Hour).want(Replaced), uncut(12 * time.Hour).want(Replaced)},
		},
		"young: not replaced": {
			series:    Series{Slot: noon},
			want:      []judged{uncut(59 * time.Minute).want(HeldInProgress)},
			checkRest: true, wantNext: time.Minute,
		},
		"a cut failed one is not replaced": {
			series: Series{Slot: noon},
			want:   []judged{erring(2 * time.Hour).want(Unready)},
		},
		"detached: no slot is due, whatever the caller says": {
			series: Series{Claim: Unselected, Slot: noon},
			want:   []judged{uncut(2 * time.Hour).want(Unready)},
		},
		"PVC being deleted: deleted at once": {
			series: Series{ClaimDeleting: true},
			want:   []judged{uncut(time.Second).want(ClaimGone), uncut(2 * time.Hour).want(ClaimGone)},
		},
		"PVC not selected and being deleted: deleted at once": {
			series: Series{Claim: Unselected, ClaimDeleting: true},
			want:   []judged{uncut(time.Second).want(ClaimGone)},
		},
		"PVC gone: deleted at once": {
			series: Series{Claim: Gone},
			want:   []judged{uncut(time.Second).want(ClaimGone)},
		},
		"PVC not selected: left to finish": {
			series: Series{Claim: Unselected},
			want:   []judged{uncut(time.Second).want(HeldInProgress)},
		},
		"PVC gone: a cut one is no danger": {
			series: Series{Claim: Gone},
			want:   []judged{uploading(time.Second).want(HeldInProgress), erring(time.Minute).want(Unready)},
		},
		"PVC gone: ready without a creation time is not uncut": {
			series: Series{Claim: Gone},
			want:   []judged{func() Snapshot { s := uncut(day); s.ReadyToUse = true; return s }().want(NoLimit)},
		},
	})
}

// Contract: RET-7.
func TestDecideSuperseded(t *testing.T) {
	tiers := Policy{Keep: Tiers{Last: 2}, MinReady: 1}
	runDecide(t, map[string]decideCase{
		"a cut failed one goes once older than the oldest ready one that is kept": {
			policy: tiers,
			want: []judged{
				ready(day).want(KeptLast), erring(36 * time.Hour).want(Unready),
				ready(2 * day).want(KeptLast), erring(60 * time.Hour).want(Superseded), ready(3 * day).want(NotSelected),
			},
			checkRest: true, wantFloor: []int{0},
		},
		"so does one that is no longer ready": {
			policy: tiers,
			want: []judged{
				ready(day).want(KeptLast), uploading(36 * time.Hour).want(Unready),
				ready(2 * day).want(KeptLast), uploading(3 * day).want(Superseded),
			},
		},
		"not before it is older than readyDeadline": {
			policy:    Policy{Keep: Tiers{Last: 1}, MinReady: 1, ReadyDeadline: 4 * day},
			want:      []judged{ready(day).want(KeptLast), erring(3 * day).want(Unready), erring(4 * day).want(Superseded)},
			checkRest: true, wantFloor: []int{0}, wantNext: day,
		},
		"not while none is ready": {
			policy: tiers,
			want:   []judged{erring(2 * day).want(Unready), erring(3 * day).want(Unready)},
		},
		"a held ready one is kept, and counts": {
			policy: tiers,
			want: []judged{
				ready(day).want(KeptLast), ready(2 * day).want(KeptLast),
				erring(3 * day).want(Unready), ready(4 * day).held(HoldAnnotation).want(HeldByAnnotation), erring(5 * day).want(Superseded),
			},
		},
		"nor the newest of a selected PVC, whose slot would be due again": {
			policy: tiers,
			want:   []judged{erring(3 * day).slot(noon).want(Unready), ready(day).want(KeptLast), erring(4 * day).want(Superseded)},
		},
		"nor an uncut one, which is replaced": {
			policy: tiers,
			want:   []judged{ready(day).want(KeptLast), uncut(3 * day).want(Unready)},
		},
		"with a cap alone": {
			policy: Policy{MaxCount: 1, MinReady: 1},
			want:   []judged{ready(day).want(NoLimit), ready(2 * day).want(OverCap), erring(3 * day).want(Superseded)},
		},
		"without a floor the delete rests on the ready one it was measured by": {
			policy:    Policy{Keep: Tiers{Last: 1}},
			want:      []judged{ready(day).want(KeptLast), erring(3 * day).want(Superseded)},
			checkRest: true, wantFloor: []int{0},
		},
		"with a TTL age decides": {
			policy: Policy{TTL: 10 * day, Keep: Tiers{Last: 1}},
			want:   []judged{ready(day).want(KeptLast), erring(3 * day).want(WithinTTL)},
		},
	})
}
