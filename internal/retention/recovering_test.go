// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The last good snapshot, kept by the floor beyond its TTL, loses its readiness:
// an error that passes must not cost it.
func TestDecideSparesAFloorThatLostItsReadiness(t *testing.T) {
	one, two := Policy{TTL: 10 * day, MinReady: 1}, Policy{TTL: 10 * day, MinReady: 2}
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	testDecide(t, map[string]decideCase{
		"within readyDeadline of the error": {
			policy: one, want: []expected{inError(20 * day).since(ago(time.Hour - time.Second)).want(Recovering)},
			checkAll: true, wantNext: time.Second,
		},
		"not beyond readyDeadline": {policy: one, want: []expected{inError(20 * day).since(ago(time.Hour)).want(Expired)}},
		"not without a time of the error": {
			policy: one, want: []expected{inError(20 * day).want(Expired)},
		},
		"not while the floor is met": {
			policy: one, want: []expected{inError(20 * day).since(ago(time.Minute)).want(Expired), ready(15 * day).want(Floor)},
		},
		"while the floor lacks one of two": {
			policy: two, want: []expected{inError(20 * day).since(ago(time.Minute)).want(Recovering), ready(15 * day).want(Floor)},
		},
		"without an error, for as long as the floor lacks one": {
			policy: two, want: []expected{uploading(20 * day).want(Recovering), ready(15 * day).want(Floor)},
		},
		"not an uncut one: it holds no data": {
			policy: one, want: []expected{uncut(20 * day).failing().since(ago(time.Minute)).want(Expired)},
		},
		"of a PVC that is gone, by its own floor": {
			policy: Policy{TTL: 10 * day, Detached: Detached{MinReady: 1}}, series: Series{Claim: Gone},
			want: []expected{inError(20 * day).since(ago(time.Minute)).want(Recovering)},
		},
		"not of a PVC that is gone, without a floor": {
			policy: one, series: Series{Claim: Gone}, want: []expected{inError(20 * day).since(ago(time.Minute)).want(Expired)},
		},
		"where no TTL is set, it is not superseded": {
			policy: Policy{Keep: Tiers{Last: 1}, MinReady: 2},
			want:   []expected{ready(day).want(KeptLast), inError(2 * day).since(ago(time.Minute)).want(Unready), ready(0).deleting().want(BeingDeleted)},
		},
	})
}

func TestDecideDeletesNoYoungErrorWhileTheFloorLacksReadyOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		if countReady(s) >= p.limitsFor(s.Claim).minReady {
			t.Skip("the floor is met")
		}
		for i, v := range Decide(p, noon, s).Verdicts {
			x := &s.Snapshots[i]
			if v.Delete() && !x.ReadyToUse && x.HasCutTime && (!x.HasError || noon.Sub(x.ErrorTime) < p.ReadyDeadline) {
				t.Fatalf("%+v: %v", x, v)
			}
		}
	})
}

// The snapshot controller takes the readiness of a snapshot whose content it does not find.
func TestDecideSparesWhatTiersAndCapKeptUntilAnError(t *testing.T) {
	minute, hour := noon.Add(-time.Minute), noon.Add(-time.Hour)
	lost := func(age time.Duration) Snapshot { return inError(age).since(minute) }
	testDecide(t, map[string]decideCase{
		"tiers alone": {
			policy: Policy{Keep: Tiers{Daily: 30}, MinReady: 1},
			want:   []expected{ready(0).want(KeptDaily), lost(35 * day).want(Recovering), lost(65 * day).want(Recovering)},
		},
		"tiers beyond the TTL": {
			policy: Policy{TTL: 7 * day, Keep: Tiers{Monthly: 12}, MinReady: 1},
			want:   []expected{ready(0).want(KeptMonthly), lost(35 * day).want(Recovering), lost(65 * day).want(Recovering)},
		},
		"the cap alone": {
			policy: Policy{MaxCount: 3, MinReady: 1},
			want:   []expected{ready(0).want(NoLimit), lost(day).want(Recovering), lost(2 * day).want(Recovering), lost(3 * day).want(Superseded)},
		},
		"not what no tier would select": {
			policy: Policy{Keep: Tiers{Last: 2}, MinReady: 1},
			want:   []expected{ready(0).want(KeptLast), lost(day).want(Recovering), lost(2 * day).want(Superseded)},
		},
		"not beyond readyDeadline": {
			policy: Policy{Keep: Tiers{Daily: 30}, MinReady: 1},
			want:   []expected{ready(0).want(KeptDaily), inError(35 * day).since(hour).want(Superseded)},
		},
		"not what the TTL alone deletes": {
			policy: Policy{TTL: 7 * day, MinReady: 1}, want: []expected{ready(0).want(WithinTTL), lost(8 * day).want(Expired)},
		},
	})
}

// An error that is younger than readyDeadline costs no snapshot, whichever others have one.
func TestDecideDeletesNothingForAnErrorThatMayPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		for i := range s.Snapshots { // those that failed before did not compete with the others
			s.Snapshots[i].ErrorTime = noon.Add(-p.ReadyDeadline)
		}
		kept := Decide(p, noon, s)
		lost := s
		lost.Snapshots = slices.Clone(s.Snapshots)
		for i := range lost.Snapshots {
			if x := &lost.Snapshots[i]; x.IsReady() && x.HasCutTime && rapid.Bool().Draw(t, "lost") {
				x.ReadyToUse, x.HasError, x.ErrorTime = false, true, noon.Add(-p.ReadyDeadline/2)
			}
		}
		for i, v := range Decide(p, noon, lost).Verdicts {
			if v.Delete() && !kept.Verdicts[i].Delete() && s.Snapshots[i].IsReady() {
				t.Fatalf("%+v: %v, which was %v", lost.Snapshots[i], v, kept.Verdicts[i])
			}
		}
	})
}
