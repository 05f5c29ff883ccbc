// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/members"
)

// written is what the rules about the writes of a pass read.
type written struct {
	schedule *v1alpha1.SnapshotSchedule
	mapKey   string
	// before is the status after the previous pass, and after is the one of this pass, but for what its writes show.
	before, after *keyStatus
	outcome       mapcontroller.Outcome
	inFlight      *inFlight
}

// ruleOfWrites returns what is wrong after the writes of a pass in one respect. Only the next pass changes that.
type ruleOfWrites func(w written) []Problem

// rulesOfWrites apply after the writes of every pass. Of several problems with one reason, that of the first rule counts.
var rulesOfWrites = []ruleOfWrites{writeFailed, decisionPanicked, slotOverdue, slotDropped, slotFailedBefore, groupWaits}

// problems returns what the rules find.
func (w written) problems() (found []Problem) {
	for _, r := range rulesOfWrites {
		found = append(found, r(w)...)
	}
	return found
}

// slotOverdue is of a PVC that was overdue when a snapshot was about to be created, if none was, because it exists, or if the cache has
// not shown what the previous pass created. A create that failed is a problem of its own.
func slotOverdue(w written) []Problem {
	known := slices.ContainsFunc(w.before.Problems, isOverdue) || w.before.overdue && w.before.created
	if !w.after.overdue || slices.ContainsFunc(w.outcome.Failed, isCreate) || w.after.created && !known {
		return nil
	}
	message := unseenMessage
	if p := w.after.pending; w.outcome.Queued != "" {
		message = overdueMessage + ": " + p.waitsFor()
	}
	return []Problem{{Reason: v1alpha1.ReasonSnapshotOverdue, Message: message}}
}

// unseenMessage is of a PVC that is overdue although its snapshot exists.
const unseenMessage = "the operator has seen no snapshot for a whole slot, although the API server has one: " +
	"its watch of VolumeSnapshots is behind"

// slotDropped is of a slot that waited until it was too old.
func slotDropped(w written) []Problem {
	is, was := w.after.pending, w.before.pending
	if is == nil || !is.late || !w.before.waits() || !was.slot.Equal(is.slot) {
		return nil
	}
	return []Problem{{Reason: v1alpha1.ReasonSnapshotOverdue, Message: droppedMessage + was.waitsFor()}}
}

// slotFailedBefore is what went wrong with a slot before. It stays until another create is tried, or there is a newer snapshot:
// nothing else says that the slot has none.
func slotFailedBefore(w written) (found []Problem) {
	if w.after.pending == nil {
		return nil
	}
	for _, p := range w.before.Problems {
		if p.ofSlot() {
			found = append(found, p)
		}
	}
	return found
}

// groupWaits is of a group that finds no room.
func groupWaits(w written) []Problem {
	if w.after.group == nil || !w.after.waits() {
		return nil
	}
	req := limits.Request{Parent: client.ObjectKeyFromObject(w.schedule), MapKey: w.mapKey}
	if p := w.inFlight.shortage(req, w.after.pending.driver); p.Reason != "" {
		return []Problem{p}
	}
	return nil
}

// writeFailed is of the writes of the pass.
func writeFailed(w written) []Problem { return problemsOf(w.outcome.Failed) }

// problemsOf returns the failed writes that concern a user. Of those of one kind it
// returns the first, with the number of the others.
func problemsOf(failures []mapcontroller.Failure) []Problem {
	var problems []Problem
	more := map[string]int{}
	for _, f := range failures {
		p := problemOf(f)
		if slices.ContainsFunc(problems, func(q Problem) bool { return q.Reason == p.Reason }) {
			more[p.Reason]++
		} else if p.Reason != "" {
			problems = append(problems, p)
		}
	}
	for i, p := range problems {
		if n := more[p.Reason]; n > 0 {
			problems[i].Message = fmt.Sprintf("%s; and %d more", report.Text(p.Message, report.MaxProblem-len("; and 1000000 more")), n)
		}
	}
	return problems
}

// decisionPanicked is of a decision that panicked. The log has the rest.
func decisionPanicked(w written) []Problem {
	if w.outcome.Err == nil { // as always: what errors.As looks for is allocated
		return nil
	}
	if panicked := (*mapcontroller.PanicError)(nil); errors.As(w.outcome.Err, &panicked) {
		message := report.Text(fmt.Sprintf("map key %s: %v", report.Text(w.mapKey, report.MaxName), panicked), report.MaxProblem)
		return []Problem{{Reason: v1alpha1.ReasonInternalError, Message: withCommand(message,
			"; this is a bug: report it with the operator's log and the output of: kubectl snapsched doctor -A -o json")}}
	}
	return nil
}

// problemOf explains a failed write; without a reason, it is only tried again.
func problemOf(f mapcontroller.Failure) Problem {
	name := f.Object.GetName()
	noun := backup.Noun(f.Object)
	settled := report.Settled(f.Err, name, report.MaxProblem)
	p := Problem{Claim: backup.ClaimName(f.Object), Message: fmt.Sprintf("%s %s: %s", noun, name, settled)}
	switch f.Verb {
	case mapcontroller.VerbCreate:
		p.Reason, p.Message = v1alpha1.ReasonCreateFailed, settled
		if errors.Is(f.Err, mapcontroller.ErrNameCollision) {
			p.Reason = v1alpha1.ReasonNameCollision
			p.Message = collisionMessage(f.Object, f.Err)
		}
	case mapcontroller.VerbDelete:
		p.Reason = v1alpha1.ReasonDeleteFailed
	case mapcontroller.VerbRelease:
		p.Reason = v1alpha1.ReasonReleaseFailed
		if _, isSchedule := f.Object.(*v1alpha1.SnapshotSchedule); isSchedule {
			p.Message = settled
		}
	case members.VerbLabel:
		p.Reason = v1alpha1.ReasonLabelFailed
	case mapcontroller.VerbAdopt:
		p.Reason = v1alpha1.ReasonAdoptionRefused
		p.Message = fmt.Sprintf("%s %s is left alone: %s", noun, name, report.Settled(f.Err, name, report.MaxProblem))
	}
	return p
}

// collisionMessage says why the name of a snapshot is taken, and how to free it. One of
// the schedule's own has it only if somebody changed or made it: what the name is computed
// from is in its labels, its annotation and its source.
func collisionMessage(want client.Object, err error) string {
	noun, name, collision := backup.Noun(want), want.GetName(), (*mapcontroller.CollisionError)(nil)
	command := func(verb, args string) string {
		return fmt.Sprintf(": kubectl %s -n '%s' %s '%s'%s", verb, want.GetNamespace(), strings.ToLower(noun), name, args)
	}
	if !errors.As(err, &collision) || !collision.Owned {
		return fmt.Sprintf("%s %s exists, but does not belong to this schedule; if nobody needs it, delete it", noun, name) +
			command("describe", "")
	}
	have, key := collision.Existing, want.GetLabels()[v1alpha1.LabelMapKey]
	switch {
	case backup.Terminating(have):
		return fmt.Sprintf("%s %s belongs to this schedule, but was changed and is being deleted; the slot is taken once it is gone", noun, name)
	case have.GetLabels()[v1alpha1.LabelMapKey] != key:
		return fmt.Sprintf("%s %s belongs to this schedule, but its label %s was changed; set it to %s again, or delete the %s",
			noun, name, v1alpha1.LabelMapKey, key, noun) + command("label", fmt.Sprintf(" --overwrite '%s=%s'", v1alpha1.LabelMapKey, key))
	case backup.ClaimName(have) != backup.ClaimName(want):
		return fmt.Sprintf("%s %s belongs to this schedule, but was not taken of PersistentVolumeClaim %s; delete it",
			noun, name, backup.ClaimName(want)) + command("describe", "")
	}
	const slot = v1alpha1.AnnotationScheduledAt
	at := want.GetAnnotations()[slot]
	return fmt.Sprintf("%s %s belongs to this schedule, but its annotation %s was changed, so the slot is due again; "+
		"set it to %s again, or delete the %s", noun, name, slot, at, noun) + command("annotate", fmt.Sprintf(" --overwrite '%s=%s'", slot, at))
}
