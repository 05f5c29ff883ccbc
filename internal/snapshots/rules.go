// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// rule returns what is wrong with a subject in one respect, and when that changes although no event shows it: zero, if nothing but
// an event changes it. A problem that names neither a PVC nor a group is of the subject. How bad its reason is, problem.go says.
type rule func(o observed) (found []Problem, next time.Time)

// rules apply to every subject: its PVCs may be skipped, not selected, or gone.
var rules = []rule{
	skipped,
	snapshotKeepsClaim,
	deletionStuck,
	restorePending,
}

// rulesOfUngrouped apply to a PVC that could be snapshotted and belongs to no group.
var rulesOfUngrouped = []rule{
	refused,
	verificationFailed,
}

// rulesWhileTaken apply to a subject of which snapshots are taken.
var rulesWhileTaken = []rule{
	refused,
	volumeLimit,
	snapshotFailed,
	snapshotSlow,
	snapshotOverdue,
	snapshotError,
	memberDeleted,
	groupIncomplete,
	verificationFailed,
}

const (
	// claimPatience is how long a PVC may be terminating before a snapshot that keeps it is a problem.
	claimPatience = 2 * time.Minute
	// restorePatience is how long a PVC that is restored from a snapshot may be Pending before that is a
	// problem: the snapshot is kept as long.
	restorePatience = time.Hour
	// memberPatience is how long the members of a group snapshot that is cut may be missing:
	// they are made, and become ready, a moment after it.
	memberPatience = time.Minute
)

// find adds what rules find, and returns the earliest time at which that changes.
func (k *keyStatus) find(rules []rule, o observed) (next time.Time) {
	for _, r := range rules {
		found, at := r(o)
		for _, p := range found {
			k.add(p)
		}
		next = earliest(next, at)
	}
	return next
}

// skipped is of a PVC that is skipped for a reason that is a problem.
func skipped(o observed) (found []Problem, next time.Time) {
	for _, claim := range o.of.claims {
		if s := SkipOf(claim); s.Problem != "" {
			found = append(found, Problem{Claim: claim.Name, Reason: s.Problem, Message: fmt.Sprintf(s.message, claim.Namespace, claim.Name)})
		}
	}
	return found, time.Time{}
}

// snapshotKeepsClaim is of a PVC that a snapshot which is not ready keeps from being deleted: the snapshot
// controller waits for each that was taken of the PVC's name, terminating ones included. Those of
// groups are their members.
func snapshotKeepsClaim(o observed) (found []Problem, next time.Time) {
	snapshots := o.of.backups.restorable(o.seen)
	for _, claims := range [...][]client.Object{o.seen.Selected, o.seen.Unselected, o.of.backups.leavers} {
		for _, claim := range claims {
			keep := keeping(claim, snapshots)
			if len(keep) == 0 {
				continue
			}
			if due := claim.GetDeletionTimestamp().Add(claimPatience); o.seen.Now.Before(due) {
				next = earliest(next, due)
				continue
			}
			what, more := fmt.Sprintf("volumesnapshot '%s'", keep[0].GetName()), ""
			if group := backup.GroupLabel(keep[0]); group != "" {
				what = fmt.Sprintf("volumegroupsnapshot '%s'", group)
			}
			if n := len(keep) - 1; n > 0 {
				more = fmt.Sprintf(" (and %d more)", n)
			}
			found = append(found, Problem{Claim: claim.GetName(), Reason: v1alpha1.ReasonSnapshotKeepsClaim, Message: withCommand(fmt.Sprintf(
				"the PVC is being deleted, but stays until VolumeSnapshot %s%s is ready or deleted", keep[0].GetName(), more),
				fmt.Sprintf(": kubectl delete -n '%s' %s", claim.GetNamespace(), what))})
		}
	}
	return found, next
}

// keeping returns the snapshots that keep a PVC which is being deleted.
func keeping(claim client.Object, snapshots []client.Object) (keep []client.Object) {
	if claim.GetDeletionTimestamp() == nil {
		return nil
	}
	for _, o := range snapshots {
		if backup.ClaimName(o) == claim.GetName() && !backup.ReadyToUse(o) {
			keep = append(keep, o)
		}
	}
	return keep
}

// restorePending is of PVCs that stay Pending, and are restored from one of the snapshots.
func restorePending(o observed) (found []Problem, next time.Time) {
	var first client.Object
	var from string
	snapshots, pending := o.of.backups.restorable(o.seen), 0
	for _, related := range o.seen.Related {
		restore, isClaim := related.(*corev1.PersistentVolumeClaim)
		if !isClaim {
			continue
		}
		_, source, restoring := restoringFrom(restore)
		if !restoring || !slices.ContainsFunc(snapshots, func(o client.Object) bool { return o.GetName() == source }) {
			continue
		}
		if due := restore.CreationTimestamp.Add(restorePatience); o.seen.Now.Before(due) {
			next = earliest(next, due)
			continue
		}
		if pending++; first == nil || olderClaim(restore, first) {
			first, from = restore, source
		}
	}
	if first == nil {
		return nil, next
	}
	more := ""
	if pending > 1 {
		more = fmt.Sprintf(" (and %d more PVCs)", pending-1)
	}
	return []Problem{{Claim: o.claimName(), Reason: v1alpha1.ReasonRestorePending, Message: withCommand(fmt.Sprintf(
		"PVC %s/%s%s is restored from VolumeSnapshot %s, but has been Pending for more than %s; until it is bound, the snapshot is kept",
		first.GetNamespace(), first.GetName(), more, from, restorePatience),
		fmt.Sprintf(": kubectl describe -n '%s' pvc '%s'", first.GetNamespace(), first.GetName()))}}, next
}

// olderClaim orders PVCs by age, then by name.
func olderClaim(a, b client.Object) bool {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())) < 0
}

// deletionStuck is of deletes that the storage does not finish.
func deletionStuck(o observed) (found []Problem, next time.Time) {
	b := &o.of.backups
	stuck, next := o.program.stuck(b, o.seen.Now)
	if len(stuck) == 0 {
		return nil, next
	}
	oldest := slices.MinFunc(stuck, func(a, b client.Object) int { return a.GetDeletionTimestamp().Compare(b.GetDeletionTimestamp().Time) })
	message := fmt.Sprintf("%s %s", backup.Noun(oldest), oldest.GetName())
	if n := len(stuck) - 1; n > 0 {
		message += fmt.Sprintf(" (and %d more)", n)
	}
	message += fmt.Sprintf(" has been terminating for more than %s: the storage does not finish the deletion", o.program.stuckAfter())
	if places(b.Whole.Snapshots) == 0 {
		message += fmt.Sprintf("; while %d are terminating, retention deletes no others of this PVC", maxDeleting)
	}
	return []Problem{{Claim: o.claimName(), Reason: v1alpha1.ReasonDeletionStuck, Message: message + "; " + askStorage(oldest)}}, next
}

// askStorage says where the storage's answer to a delete is found. The name of a content that
// somebody imported is free text.
func askStorage(o client.Object) string {
	if _, isGroup := o.(*groupv1.VolumeGroupSnapshot); !backup.Imported(o) && isGroup {
		return fmt.Sprintf("why: kubectl describe volumegroupsnapshotcontent 'groupsnapcontent-%s'", o.GetUID())
	} else if !backup.Imported(o) {
		return fmt.Sprintf("why: kubectl describe volumesnapshotcontent 'snapcontent-%s'", o.GetUID())
	}
	return "the events of its content say why"
}

// refused is of a subject that has no class or no group, or of a group that its labels do not stand for.
func refused(o observed) (found []Problem, next time.Time) {
	if o.refused.Reason != "" {
		found = append(found, o.refused)
	}
	return found, time.Time{}
}

// volumeLimit is of the first volume that has no place, or may have none for what the spec keeps.
func volumeLimit(o observed) (found []Problem, next time.Time) {
	create, noPlace := o.of.decided.Take.Create(), false
	for i := range o.volumes {
		v := &o.volumes[i]
		if i > 0 && (noPlace || !v.full()) {
			continue
		}
		noPlace = create && v.full()
		p := v.problem(o.program.spec, create)
		if p.Message != "" && !p.Harmless {
			claim := o.of.claims[i]
			p.Message = withCommand(p.Message, fmt.Sprintf(
				"; what keeps them: kubectl snapsched list -n '%s' --pvc='%s'", claim.Namespace, claim.Name))
		}
		if p.Message != "" {
			found = append(found, p)
		}
	}
	return found, time.Time{}
}

// snapshotFailed is of the newest snapshot, after readyDeadline. Retention does not consider one that is uncut and being deleted.
func snapshotFailed(o observed) (found []Problem, next time.Time) {
	newest, failed := o.newest()
	if !failed {
		if newest != nil && newest.Deleting && newest.Uncut() {
			next = newest.Created.Add(o.readyDeadline())
		}
		return nil, next
	}
	message := fmt.Sprintf("%s %s is not ready %s after it was created", o.of.noun(), newest.Name, o.readyDeadline())
	if !newest.HasError { // else that is a problem of its own
		message += silentMessage
	}
	return []Problem{{Reason: v1alpha1.ReasonSnapshotFailed, Message: withCommand(message, o.describe(newest.Name))}}, time.Time{}
}

// snapshotSlow is of a snapshot that is cut and for which the next one waits.
func snapshotSlow(o observed) (found []Problem, next time.Time) {
	take, series := o.of.decided.Take, o.of.backups.Whole.Snapshots
	if take.Block != retention.BlockedInProgress || series[take.Blocker].Uncut() || !o.slotWaits() {
		return nil, time.Time{}
	}
	if _, failed := o.newest(); failed {
		return nil, time.Time{}
	}
	name := series[take.Blocker].Name
	return []Problem{{Reason: v1alpha1.ReasonSnapshotSlow, Message: withCommand(fmt.Sprintf(
		"%s %s is cut but not ready, and the next one waits for it"+silentMessage, o.of.noun(), name), o.describe(name))}}, time.Time{}
}

// snapshotOverdue is of a slot that has no snapshot although the next one is due. Where one is about to be created, that is a problem
// only if it exists already: slotOverdue says so.
func snapshotOverdue(o observed) (found []Problem, next time.Time) {
	if !o.overdue() {
		return nil, time.Time{}
	}
	take := o.of.decided.Take
	if next = o.expiryHides(); take.Create() {
		return nil, next
	}
	message := overdueMessage
	if take.Block == retention.NotBlocked {
		message += "; to take one now: " + o.request()
	} else {
		blocker := &o.of.backups.Whole.Snapshots[take.Blocker]
		message += fmt.Sprintf("; %s %s blocks it", o.of.noun(), blocker.Name)
		if blocker.Deleting {
			message += " and is being deleted"
		}
		message = withCommand(message, o.describe(blocker.Name))
	}
	return []Problem{{Reason: v1alpha1.ReasonSnapshotOverdue, Message: message}}, next
}

// snapshotError is what the driver says about a snapshot that is not ready.
func snapshotError(o observed) (found []Problem, next time.Time) {
	if o.said.error != nil {
		found = append(found, o.said.error.problem(o.of.noun()))
	}
	return found, o.errorDue
}

// memberDeleted is of the first group snapshot that is losing the data of a PVC.
func memberDeleted(o observed) (found []Problem, next time.Time) {
	for i, v := range o.of.backups.outputs {
		if !o.of.backups.ofGroup || len(o.of.backups.members[i].deleted) == 0 || backup.Terminating(v) {
			continue
		}
		return []Problem{{Reason: v1alpha1.ReasonMemberDeleted, Message: withCommand(fmt.Sprintf(
			"the data of %s in VolumeGroupSnapshot %s is lost: its VolumeSnapshot is being deleted, which cannot be undone",
			report.List(o.of.backups.members[i].deleted, maxTerminating), v.GetName()), "; to take another: "+o.request())}}, time.Time{}
	}
	return nil, time.Time{}
}

// groupIncomplete is of the newest group snapshot, if it is ready and its members are not those that it should have.
func groupIncomplete(o observed) (found []Problem, next time.Time) {
	b := &o.of.backups
	i := retention.Newest(b.Whole.Snapshots, o.seen.Now)
	if !b.ofGroup || i < 0 {
		return nil, time.Time{}
	}
	s, m := &b.Whole.Snapshots[i], &b.members[i]
	if !s.ReadyToUse || s.Deleting || len(m.lacks)+len(m.doubled)+len(m.strangers) == 0 {
		return nil, time.Time{}
	}
	if due := s.AgeBase(o.seen.Now).Add(memberPatience); len(m.doubled)+len(m.strangers) == 0 && o.seen.Now.Before(due) {
		return nil, due
	}
	var what []string
	for i, names := range [...][]string{m.lacks, m.doubled, m.strangers} {
		if text := [...]string{"holds no data of ", "has several VolumeSnapshots of ", "holds data of others: "}[i]; len(names) > 0 {
			what = append(what, text+report.List(names, maxTerminating))
		}
	}
	name := b.outputs[i].GetName()
	message := withCommand(fmt.Sprintf("VolumeGroupSnapshot %s is ready, but %s", name, strings.Join(what, ", and ")), o.describe(name))
	return []Problem{{Reason: v1alpha1.ReasonGroupIncomplete, Message: message}}, time.Time{}
}

// verificationFailed is of a PVC whose last drill failed.
func verificationFailed(o observed) (found []Problem, next time.Time) {
	for _, p := range o.drills {
		p.Message = withCommand(p.Message, fmt.Sprintf(
			"; those to try next: kubectl snapsched list -n '%s' --pvc='%s'", o.program.schedule.Namespace, p.Claim))
		found = append(found, p)
	}
	return found, time.Time{}
}

// silentMessage is of a snapshot that failed, or does not become ready, without an error.
const silentMessage = ", and no error is reported; the logs of the snapshot controller and of the driver's csi-snapshotter may say why"

const overdueMessage = "no snapshot was taken for a whole slot"

// ofSchedule returns the problems of the schedule itself.
func ofSchedule(s *v1alpha1.SnapshotSchedule, from origin) (all []Problem) {
	if p := scheduleProblem(s, from); p.Reason != "" {
		all = append(all, p)
	}
	if from.want != nil {
		all = append(all, Problem{Reason: v1alpha1.ReasonSpecDiffers, Message: differsMessage(s)})
	}
	return all
}

// scheduleProblem returns the problem of the schedule itself, if it has one: a request that is
// malformed, or that counts for nothing. It is otherwise ignored.
func scheduleProblem(s *v1alpha1.SnapshotSchedule, from origin) Problem {
	requester := from.requester(s)
	if _, err := v1alpha1.RequestOf(requester.GetAnnotations()); err != nil {
		return Problem{
			Reason: v1alpha1.ReasonInvalidRequestedAt,
			Message: fmt.Sprintf("annotation %s is \"%s\"; %s; to take one now: %s", v1alpha1.AnnotationRequestedAt,
				report.Text(requester.GetAnnotations()[v1alpha1.AnnotationRequestedAt], maxExcerpt), err, requestOf(s, from)),
		}
	}
	if at, requested := s.Annotations[v1alpha1.AnnotationRequestedAt]; !requested || !from.owned || controlledByFleet(s) ||
		at == requester.GetAnnotations()[v1alpha1.AnnotationRequestedAt] {
		return Problem{} // a child may have an older request of its ClusterSnapshotSchedule
	}
	return Problem{
		Reason: v1alpha1.ReasonInvalidRequestedAt,
		Message: fmt.Sprintf(
			"annotation %s is ignored, because ClusterSnapshotSchedule %s owns this schedule: make requests there: %s",
			v1alpha1.AnnotationRequestedAt, s.Name, requestOf(s, from)),
	}
}

// maxExcerpt is how many bytes of a user's text a message repeats.
const maxExcerpt = 40
