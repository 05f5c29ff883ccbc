// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// maxProblems is how many problems a status lists.
const maxProblems = 10

// Note is what one PVC tells of itself for the schedule's status, and the fold
// of any number of such: see merge.
type Note struct {
	// LastSnapshot is the newest slot that a snapshot was taken for.
	LastSnapshot time.Time
	// NextSlot is the earliest slot to come.
	NextSlot time.Time
	// RecoveryPoint is that of the PVC that is worst off.
	RecoveryPoint time.Time
	// OldestData is the RecoveryPoint of the PVCs that hold data and are to stay:
	// one that was never bound holds none.
	OldestData time.Time
	// Pending and Failed count snapshots of selected PVCs. What is neither is
	// ready.
	Pending, Failed int
	// Skipped counts the PVCs that can't be snapshotted now.
	Skipped      int
	FirstSkipped Skipped
	// Failing counts the PVCs of which a problem says that they are not backed
	// up as they should be.
	Failing int
	// Problems are the worst; MoreProblems counts the others.
	Problems     []Problem
	MoreProblems int
	// Paused tells that deletes were due but not safe.
	Paused bool
}

// Skipped is a PVC that can't be snapshotted now.
type Skipped struct{ Claim, Why string }

// Problem is something wrong with one PVC, or with the schedule itself if it
// names none.
type Problem struct{ Claim, Reason, Message string }

// severity orders problems, the worst first.
var severity = []string{
	v1alpha1.ReasonCreateFailed,
	v1alpha1.ReasonNameCollision,
	v1alpha1.ReasonSnapshotFailed,
	v1alpha1.ReasonSnapshotOverdue,
	v1alpha1.ReasonSnapshotSlow,
	v1alpha1.ReasonAdoptionRefused,
	v1alpha1.ReasonInvalidRequestedAt,
}

// fails tells whether a problem means that a PVC is not backed up as it should
// be.
func (p Problem) fails() bool {
	return slices.Contains(severity[:4], p.Reason)
}

func (p Problem) compare(q Problem) int {
	return cmp.Or(
		cmp.Compare(slices.Index(severity, p.Reason), slices.Index(severity, q.Reason)),
		strings.Compare(p.Claim, q.Claim),
		strings.Compare(p.Message, q.Message),
	)
}

// maxMessage is how many bytes a message may have. An event is refused beyond
// 1024, and a status beyond 32768: then nothing would be told at all.
const maxMessage = 700

// brief cuts a message that someone else worded, a webhook or a user.
func brief(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// add adds a problem of the note's PVC.
func (n *Note) add(p Problem) {
	p.Message = brief(p.Message)
	if p.fails() {
		n.Failing = 1
	}
	// The note of an earlier pass may share the slice.
	n.Problems = append(slices.Clip(n.Problems), p)
	slices.SortFunc(n.Problems, Problem.compare)
}

// skip says that the note's PVC can't be snapshotted.
func (n *Note) skip(claim, why string) {
	n.Skipped = 1
	n.FirstSkipped = Skipped{Claim: claim, Why: why}
}

// merge folds two notes.
func merge(a, b Note) Note {
	n := Note{
		LastSnapshot:  latest(a.LastSnapshot, b.LastSnapshot),
		NextSlot:      earliest(a.NextSlot, b.NextSlot),
		RecoveryPoint: earliest(a.RecoveryPoint, b.RecoveryPoint),
		OldestData:    earliest(a.OldestData, b.OldestData),
		Pending:       a.Pending + b.Pending,
		Failed:        a.Failed + b.Failed,
		Skipped:       a.Skipped + b.Skipped,
		FirstSkipped:  firstSkipped(a.FirstSkipped, b.FirstSkipped),
		Failing:       a.Failing + b.Failing,
		MoreProblems:  a.MoreProblems + b.MoreProblems,
		Paused:        a.Paused || b.Paused,
	}
	n.Problems = mergeProblems(a.Problems, b.Problems)
	if more := len(n.Problems) - maxProblems; more > 0 {
		n.MoreProblems += more
		n.Problems = n.Problems[:maxProblems]
	}
	return n
}

func mergeProblems(a, b []Problem) []Problem {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, Problem.compare)
	return all
}

func firstSkipped(a, b Skipped) Skipped {
	if a == (Skipped{}) || (b != (Skipped{}) && b.Claim < a.Claim) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
