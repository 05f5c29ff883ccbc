// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

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
			problems[i].Message = fmt.Sprintf("%s; and %d more", report.Text(p.Message, maxProblem-len("; and 1000000 more")), n)
		}
	}
	return problems
}

// internalErrors returns the problem of a decision that panicked. The log has the rest.
func internalErrors(err error, mapKey string) []Problem {
	if err == nil { // as always: what errors.As looks for is allocated
		return nil
	}
	if panicked := (*mapcontroller.PanicError)(nil); errors.As(err, &panicked) {
		message := report.Text(fmt.Sprintf("map key %s: %v", report.Text(mapKey, report.MaxName), panicked), maxProblem)
		return []Problem{{Reason: v1alpha1.ReasonInternalError, Message: message}}
	}
	return nil
}

// problemOf explains a failed write; without a reason, it is only tried again.
func problemOf(f mapcontroller.Failure) Problem {
	name := f.Object.GetName()
	noun := backup.Noun(f.Object)
	p := Problem{Claim: backup.ClaimName(f.Object), Message: fmt.Sprintf("%s %s: %s", noun, name, report.Settled(f.Err, name, maxProblem))}
	switch f.Verb {
	case mapcontroller.VerbCreate:
		p.Reason, p.Message = v1alpha1.ReasonCreateFailed, report.Settled(f.Err, name, maxProblem)
		if errors.Is(f.Err, mapcontroller.ErrNameCollision) {
			p.Reason = v1alpha1.ReasonNameCollision
			p.Message = collisionMessage(f.Object, f.Err)
		}
	case mapcontroller.VerbDelete:
		p.Reason = v1alpha1.ReasonDeleteFailed
	case mapcontroller.VerbRelease:
		p.Reason = v1alpha1.ReasonReleaseFailed
		if _, isSchedule := f.Object.(*v1alpha1.SnapshotSchedule); isSchedule {
			p.Message = report.Settled(f.Err, name, maxProblem)
		}
	case mapcontroller.VerbLabel:
		p.Reason = v1alpha1.ReasonLabelFailed
	case mapcontroller.VerbAdopt:
		p.Reason = v1alpha1.ReasonAdoptionRefused
		p.Message = fmt.Sprintf("%s %s is left alone: %s", noun, name, report.Settled(f.Err, name, maxProblem))
	}
	return p
}

// collisionMessage says why the name of a snapshot is taken, and how to free it. One of
// the schedule's own has it only if somebody changed or made it: what the name is computed
// from is in its labels, its annotation and its source.
func collisionMessage(want client.Object, err error) string {
	noun, name, collision := backup.Noun(want), want.GetName(), (*mapcontroller.CollisionError)(nil)
	if !errors.As(err, &collision) || !collision.Owned {
		return fmt.Sprintf("%s %s exists and is not this schedule's; delete it, or keep it under another name", noun, name)
	}
	have, key := collision.Existing, want.GetLabels()[v1alpha1.LabelMapKey]
	switch {
	case backup.Terminating(have):
		return fmt.Sprintf("%s %s is this schedule's, was changed, and is being deleted; the slot is taken once it is gone", noun, name)
	case have.GetLabels()[v1alpha1.LabelMapKey] != key:
		return fmt.Sprintf("%s %s is this schedule's, but its label %s was changed; set it to %s again, or delete the %s",
			noun, name, v1alpha1.LabelMapKey, key, noun)
	case backup.ClaimName(have) != backup.ClaimName(want):
		return fmt.Sprintf("%s %s is this schedule's, but it is not one of PersistentVolumeClaim %s; delete it",
			noun, name, backup.ClaimName(want))
	}
	const slot = v1alpha1.AnnotationScheduledAt
	return fmt.Sprintf("%s %s is this schedule's, but its annotation %s was changed, so the slot is due again; "+
		"set it to %s again, or delete the %s", noun, name, slot, want.GetAnnotations()[slot], noun)
}
