// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// keys returns key statuses as the engine passes them on.
func keys(all ...*keyStatus) []any {
	var keys []any
	for _, k := range all {
		keys = append(keys, k)
	}
	return keys
}

func withProblem(claim, reason, message string) *keyStatus {
	k := &keyStatus{Claim: claim}
	k.add(Problem{Reason: reason, Message: message})
	return k
}

// drawKeyStatus draws the status of one PVC, whose name is its own.
func drawKeyStatus(t *rapid.T, i int) *keyStatus {
	at := rapid.SampledFrom([]time.Time{{}, ago(3 * time.Hour), ago(time.Hour), noon, in(time.Hour)})
	k := &keyStatus{
		Claim:         fmt.Sprintf("data-%02d", i),
		LastSnapshot:  at.Draw(t, "last"),
		NextSlot:      at.Draw(t, "next"),
		RecoveryPoint: at.Draw(t, "recovery"),
		Pending:       rapid.Int32Range(0, 2).Draw(t, "pending"),
		Failed:        rapid.Int32Range(0, 2).Draw(t, "failed"),
		SkipReason:    rapid.SampledFrom([]SkipReason{"", "not Bound"}).Draw(t, "skipped"),
		Paused:        rapid.Bool().Draw(t, "paused"),
	}
	if verified := at.Draw(t, "verified"); !verified.IsZero() {
		k.verified = &verified
	}
	for range rapid.IntRange(0, 3).Draw(t, "problems") {
		k.add(Problem{
			Reason:  rapid.SampledFrom(reasons).Draw(t, "reason").name,
			Message: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "message"),
		})
	}
	return k
}

// The engine passes on keys in the order of a map.
//
// Contract: STAT-3.
func TestCombineDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := make([]*keyStatus, rapid.IntRange(0, 25).Draw(t, "PVCs"))
		count := 0
		for i := range all {
			all[i] = drawKeyStatus(t, i)
			count += len(all[i].Problems)
		}
		got := combine(keys(all...))
		if shuffled := combine(keys(rapid.Permutation(all).Draw(t, "order")...)); !reflect.DeepEqual(got, shuffled) {
			t.Fatalf("got  %+v\nthen %+v", got, shuffled)
		}
		if len(got.Problems) > report.MaxProblems || len(got.Problems)+got.MoreProblems != count {
			t.Fatalf("%d problems listed and %d more, of %d", len(got.Problems), got.MoreProblems, count)
		}
	})
}

// Contract: STAT-3.
func TestCombineListsTheWorstProblems(t *testing.T) {
	var all []*keyStatus
	for i := range 15 {
		all = append(all, withProblem(fmt.Sprintf("data-%02d", i), v1alpha1.ReasonSnapshotSlow, ""))
	}
	all[14].add(Problem{Reason: v1alpha1.ReasonCreateFailed})
	got := combine(keys(all...))
	if len(got.Problems) != 10 || got.MoreProblems != 6 {
		t.Errorf("%d listed and %d more, want 10 and 6", len(got.Problems), got.MoreProblems)
	}
	if want := (Problem{Claim: "data-14", Reason: v1alpha1.ReasonCreateFailed}); got.Problems[0] != want {
		t.Errorf("the first is %v, want %v", got.Problems[0], want)
	}
	if got.Problems[1].Claim != "data-00" || got.Failing != 1 {
		t.Errorf("second is %v and %d fail, want data-00 and 1", got.Problems[1], got.Failing)
	}
}

func TestCombine(t *testing.T) {
	a := &keyStatus{Claim: "b", LastSnapshot: ago(time.Hour), NextSlot: in(time.Hour), RecoveryPoint: ago(2 * day),
		Pending: 1, Failed: 2, SkipReason: "not Bound"}
	b := &keyStatus{Claim: "a", LastSnapshot: ago(2 * time.Hour), NextSlot: in(2 * time.Hour), RecoveryPoint: ago(time.Hour),
		Pending: 3, Failed: 4, SkipReason: "being deleted", Paused: true}
	c := &keyStatus{Claim: "never-bound", RecoveryPoint: ago(3 * day)}
	want := combined{LastSnapshot: ago(time.Hour), NextSlot: in(time.Hour), RecoveryPoint: ago(3 * day),
		Pending: 4, Failed: 6, Skipped: 2, FirstSkipped: b, Paused: true}
	if got := combine(keys(a, b, c)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWhichProblemsFail(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonCreateFailed:           true,
		v1alpha1.ReasonNoSnapshotClass:        true,
		v1alpha1.ReasonWrongSnapshotClass:     true,
		v1alpha1.ReasonNoDefaultSnapshotClass: true,
		v1alpha1.ReasonNameCollision:          true,
		v1alpha1.ReasonSnapshotFailed:         true,
		v1alpha1.ReasonSnapshotOverdue:        true,
		v1alpha1.ReasonVerificationFailed:     true,
		v1alpha1.ReasonSnapshotSlow:           false,
		v1alpha1.ReasonDeleteFailed:           false,
		v1alpha1.ReasonReleaseFailed:          false,
		v1alpha1.ReasonAdoptionRefused:        false,
		v1alpha1.ReasonInvalidRequestedAt:     false,
	} {
		if got := (Problem{Reason: reason}).fails(); got != want {
			t.Errorf("%s fails a PVC: %v, want %v", reason, got, want)
		}
		if i, _ := reasonOf(reason); i == len(reasons) {
			t.Errorf("%s has no severity", reason)
		}
		if (Problem{Reason: reason}).compare(Problem{Reason: "Unlisted"}) >= 0 {
			t.Errorf("%s is no worse than what has no severity", reason)
		}
	}
}
