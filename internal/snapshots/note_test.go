// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// drawNote draws what one PVC tells. The PVC's name is its own.
func drawNote(t *rapid.T, i int) Note {
	name := fmt.Sprintf("data-%02d", i)
	at := rapid.SampledFrom([]time.Time{{}, ago(3 * time.Hour), ago(time.Hour), noon, in(time.Hour)})
	n := Note{
		LastSnapshot:  at.Draw(t, "last"),
		NextSlot:      at.Draw(t, "next"),
		RecoveryPoint: at.Draw(t, "recovery"),
		OldestData:    at.Draw(t, "data"),
		Pending:       rapid.IntRange(0, 2).Draw(t, "pending"),
		Failed:        rapid.IntRange(0, 2).Draw(t, "failed"),
		Paused:        rapid.Bool().Draw(t, "paused"),
	}
	if rapid.Bool().Draw(t, "skipped") {
		n.Skipped, n.FirstSkipped = 1, Skipped{Claim: name, Why: "not Bound"}
	}
	for range rapid.IntRange(0, 3).Draw(t, "problems") {
		n.add(Problem{
			Claim:   name,
			Reason:  rapid.SampledFrom(severity).Draw(t, "reason"),
			Message: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "message"),
		})
	}
	return n
}

func fold(notes []Note) Note {
	var all Note
	for _, n := range notes {
		all = merge(all, n)
	}
	return all
}

func same(a, b Note) bool {
	return slices.Equal(a.Problems, b.Problems) && reflect.DeepEqual(withoutProblems(a), withoutProblems(b))
}

func withoutProblems(n Note) Note {
	n.Problems = nil
	return n
}

// Contract: STAT-3.
func TestMergeIsAFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		notes := make([]Note, rapid.IntRange(0, 25).Draw(t, "PVCs"))
		for i := range notes {
			notes[i] = drawNote(t, i)
		}
		all := fold(notes)
		shuffled := rapid.Permutation(notes).Draw(t, "order")
		cut := rapid.IntRange(0, len(notes)).Draw(t, "cut")
		for what, other := range map[string]Note{
			"commutative": fold(shuffled),
			"associative": merge(fold(notes[:cut]), fold(notes[cut:])),
			"both":        merge(fold(shuffled[cut:]), fold(shuffled[:cut])),
			"left zero":   merge(Note{}, all),
			"right zero":  merge(all, Note{}),
		} {
			if !same(all, other) {
				t.Fatalf("not %s:\n%+v\n%+v", what, all, other)
			}
		}
		count := 0
		for _, n := range notes {
			count += len(n.Problems)
		}
		if len(all.Problems) > maxProblems || len(all.Problems)+all.MoreProblems != count {
			t.Fatalf("%d listed and %d more, of %d", len(all.Problems), all.MoreProblems, count)
		}
	})
}

// Contract: STAT-3.
func TestMergeListsTheWorst(t *testing.T) {
	var notes []Note
	// One slow PVC each, and the last has what is worst.
	for i := range 15 {
		var n Note
		n.add(Problem{Claim: fmt.Sprintf("data-%02d", i), Reason: v1alpha1.ReasonSnapshotSlow})
		notes = append(notes, n)
	}
	notes[14].add(Problem{Claim: "data-14", Reason: v1alpha1.ReasonCreateFailed})
	all := fold(notes)
	if len(all.Problems) != 10 || all.MoreProblems != 6 {
		t.Errorf("%d listed and %d more, want 10 and 6", len(all.Problems), all.MoreProblems)
	}
	if all.Problems[0].Reason != v1alpha1.ReasonCreateFailed {
		t.Errorf("the first is %v, not the worst", all.Problems[0])
	}
	if all.Problems[1].Claim != "data-00" || all.Failing != 1 {
		t.Errorf("second is %v and %d fail, want data-00 and 1", all.Problems[1], all.Failing)
	}
}

func TestMerge(t *testing.T) {
	a := Note{LastSnapshot: ago(time.Hour), NextSlot: in(time.Hour), RecoveryPoint: ago(day), OldestData: ago(2 * day),
		Pending: 1, Failed: 2, Skipped: 1, FirstSkipped: Skipped{"b", "not Bound"}}
	b := Note{LastSnapshot: ago(2 * time.Hour), NextSlot: in(2 * time.Hour), RecoveryPoint: ago(time.Hour), OldestData: ago(day),
		Pending: 3, Failed: 4, Skipped: 2, FirstSkipped: Skipped{"a", "being deleted"}, Paused: true}
	want := Note{LastSnapshot: ago(time.Hour), NextSlot: in(time.Hour), RecoveryPoint: ago(day), OldestData: ago(2 * day),
		Pending: 4, Failed: 6, Skipped: 3, FirstSkipped: Skipped{"a", "being deleted"}, Paused: true}
	if got := merge(a, b); !same(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The ledger keeps the note of a pass while the next one is worked out.
func TestAddLeavesAnEarlierNoteAlone(t *testing.T) {
	var n Note
	n.add(Problem{Claim: "data", Reason: v1alpha1.ReasonSnapshotSlow})
	before := slices.Clone(n.Problems)
	for _, reason := range severity {
		other := n
		other.add(Problem{Claim: "data", Reason: reason})
	}
	if !slices.Equal(n.Problems, before) || n.Failing != 0 {
		t.Errorf("problems are %v now, were %v", n.Problems, before)
	}
}

func TestWhichProblemsFail(t *testing.T) {
	for reason, want := range map[string]bool{
		v1alpha1.ReasonCreateFailed:       true,
		v1alpha1.ReasonNameCollision:      true,
		v1alpha1.ReasonSnapshotFailed:     true,
		v1alpha1.ReasonSnapshotOverdue:    true,
		v1alpha1.ReasonSnapshotSlow:       false,
		v1alpha1.ReasonAdoptionRefused:    false,
		v1alpha1.ReasonInvalidRequestedAt: false,
	} {
		if got := (Problem{Reason: reason}).fails(); got != want {
			t.Errorf("%s fails a PVC: %v, want %v", reason, got, want)
		}
	}
}

func TestMessagesAreBrief(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"a short one stays":          {"denied", "denied"},
		"one that just fits stays":   {strings.Repeat("x", maxMessage), strings.Repeat("x", maxMessage)},
		"a long one is cut":          {strings.Repeat("x", 40_000), strings.Repeat("x", maxMessage) + "…"},
		"no letter is cut in halves": {strings.Repeat("å", maxMessage), strings.Repeat("å", maxMessage/2) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			var n Note
			n.add(Problem{Claim: "data", Reason: v1alpha1.ReasonCreateFailed, Message: tc.message})
			if got := n.Problems[0].Message; got != tc.want {
				t.Errorf("got %d bytes, want %d", len(got), len(tc.want))
			}
		})
	}
}
