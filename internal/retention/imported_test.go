// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package retention

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// An imported snapshot holds data that nobody can take again. It may have no
// creation time for long, or for ever.
//
// Contract: RET-11.
func TestDecideImported(t *testing.T) {
	testDecide(t, map[string]decideCase{
		"one without a creation time stays when its PVC is gone": {
			policy: Policy{TTL: day}, series: Series{Claim: Gone}, want: []expected{imported(time.Hour).want(WithinTTL)},
		},
		"one without a creation time stays while its PVC is being deleted": {
			policy: Policy{TTL: day}, series: Series{ClaimDeleting: true}, want: []expected{imported(time.Hour).want(WithinTTL)},
		},
		"one without a creation time is not replaced when a slot is due": {
			policy: Policy{TTL: day}, series: Series{Slot: noon}, want: []expected{imported(2 * time.Hour).want(WithinTTL)},
		},
		"none is in progress: it goes by age": {
			policy: Policy{TTL: 30 * time.Minute},
			want: []expected{
				imported(40 * time.Minute).want(Expired), imported(40 * time.Minute).cut(noon).want(WithinTTL),
				imported(20 * time.Minute).want(WithinTTL),
			},
		},
		"none supersedes an upload that is older": {
			policy: Policy{TTL: day}, want: []expected{uploading(2 * day).want(HeldInProgress), importedReady(time.Hour).want(WithinTTL)},
		},
		"without a TTL one that is not ready stays": {
			policy: Policy{Keep: Tiers{Last: 1}},
			want: []expected{
				imported(3 * day).want(Unready), imported(2 * day).cut(noon.Add(-2 * day)).failing().want(Unready), ready(day).want(KeptLast),
			},
		},
		"ready ones count for the floor": {
			policy: Policy{TTL: day, MinReady: 2},
			want:   []expected{importedReady(2 * day).want(Floor), ready(3 * day).want(Floor), ready(4 * day).want(Expired)},
		},
		"ready ones count for tiers and cap": {
			policy: Policy{Keep: Tiers{Last: 3}, MaxCount: 2},
			want: []expected{
				ready(time.Hour).want(KeptLast), importedReady(2 * time.Hour).want(KeptLast), importedReady(3 * time.Hour).want(OverCap),
				ready(4 * time.Hour).want(NotSelected),
			},
		},
		"the newest that covers a slot stays, not one without a slot": {
			policy: Policy{Keep: Tiers{Weekly: 1}},
			want:   []expected{importedReady(time.Minute).want(KeptWeekly), ready(time.Hour).want(KeptNewest), ready(2 * time.Hour).want(NotSelected)},
		},
		"held ones stay": {
			policy: Policy{TTL: day}, want: []expected{importedReady(2 * day).restoring().want(HeldByRestore)},
		},
		"terminating ones are not deleted again": {
			policy: Policy{TTL: day}, want: []expected{imported(2 * day).deleting().want(BeingDeleted)},
		},
	})
}

// Whatever the policy, the PVC and the driver.
//
// Contract: RET-11.
func TestDecideNeverTakesImportedOnesForUncut(t *testing.T) {
	forbidden := []Verdict{HeldInProgress, Replaced, ClaimGone, Superseded}
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		s := drawSeries(t, p, false)
		d := Decide(p, noon, s)
		for i := range s.Snapshots {
			if x := &s.Snapshots[i]; x.Imported && (slices.Contains(forbidden, d.Verdicts[i]) || x.State(noon, p.ReadyDeadline) == Failed) {
				t.Fatalf("%+v: %v", x, d.Verdicts[i])
			}
		}
		if i := d.Take.Blocker; i >= 0 && s.Snapshots[i].Imported {
			t.Fatalf("%+v blocks", s.Snapshots[i])
		}
	})
}

// Those without a slot neither block nor cover one, and hide nothing that does.
func TestImportedOnesWithoutSlotDoNotChangeWhatIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		with := drawSeries(t, p, false)
		without := with
		without.Snapshots = slices.DeleteFunc(slices.Clone(with.Snapshots), func(s Snapshot) bool { return s.Imported && s.ScheduledAt.IsZero() })
		a, b := Decide(p, noon, with).Take, Decide(p, noon, without).Take
		if a.Due != b.Due || a.Block != b.Block || (a.Blocker >= 0 && with.Snapshots[a.Blocker] != without.Snapshots[b.Blocker]) {
			t.Fatalf("%+v with imported ones, %+v without", a, b)
		}
	})
}
