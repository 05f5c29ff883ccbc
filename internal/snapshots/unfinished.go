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
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

const (
	// maxDeleting is how many snapshots of a series with data may be terminating when retention
	// deletes another one. What a storage does not finish to delete can be neither restored nor
	// deleted: the rest stays as it is.
	maxDeleting = 10
	// A delete is stuck after readyDeadline, within these bounds.
	stuckSoonest = time.Minute
	stuckLatest  = time.Hour
	// claimPatience is how long a PVC may be terminating before a snapshot that keeps it is a problem.
	claimPatience = 2 * time.Minute
	// restorePatience is how long a PVC that is restored from a snapshot may be Pending before that is a
	// problem: the snapshot is kept as long.
	restorePatience = time.Hour
)

// places returns how many snapshots of a series with data may be deleted now, whoever deleted
// those that are terminating.
func places(series []retention.Snapshot) int {
	n := maxDeleting
	for i := range series {
		if s := &series[i]; s.Deleting && !s.Uncut() {
			n--
		}
	}
	return max(0, n)
}

// takesPlace returns whether a delete needs a place: one without data costs the storage nothing, and
// something waits for one that keeps its PVC.
func takesPlace(s *retention.Snapshot, v retention.Verdict) bool {
	return !s.Uncut() && v != retention.KeepsClaim
}

// addUnfinished adds what was accepted and does not end, of the snapshots of a subject whose PVCs may be gone.
func (p *program) addUnfinished(d *mapcontroller.Decision, status *keyStatus, of *subject, seen mapcontroller.Observation) {
	b, name := &of.backups, ""
	if !b.ofGroup && len(b.outputs) > 0 { // the status of a tombstone names no PVC
		name = backup.ClaimName(b.outputs[0])
	}
	for _, claims := range [...][]client.Object{seen.Selected, seen.Unselected} {
		for _, claim := range claims {
			if addKeepsClaim(&d.Next, status, claim, b.restorable(seen), seen.Now); !b.ofGroup {
				name = claim.GetName()
			}
		}
	}
	for _, claim := range b.leavers(seen) {
		addKeepsClaim(&d.Next, status, claim, b.restorable(seen), seen.Now)
	}
	p.addStuck(&d.Next, status, name, b, seen.Now)
	addRestores(&d.Next, status, name, b.restorable(seen), seen.Related, seen.Now)
}

// addStuck adds that the storage does not finish deletes of snapshots with data. claim is the PVC of
// a series whose status names none.
func (p *program) addStuck(next *time.Time, status *keyStatus, claim string, b *backups, now time.Time) {
	var oldest client.Object
	after := min(max(p.spec.retention.ReadyDeadline, stuckSoonest), stuckLatest)
	for i, o := range b.outputs {
		at := o.GetDeletionTimestamp()
		if at == nil || b.Whole.Snapshots[i].Uncut() {
			continue
		}
		if due := at.Add(after); now.Before(due) {
			*next = earliest(*next, due)
			continue
		}
		status.Stuck++
		if oldest == nil || at.Before(oldest.GetDeletionTimestamp()) {
			oldest = o
		}
	}
	if oldest == nil {
		return
	}
	message := fmt.Sprintf("%s %s", backup.Noun(oldest), oldest.GetName())
	if status.Stuck > 1 {
		message = fmt.Sprintf("%d %ss, the oldest of them %s,", status.Stuck, backup.Noun(oldest), oldest.GetName())
	}
	message += fmt.Sprintf(" being deleted for more than %s, which the storage does not finish", after)
	if places(b.Whole.Snapshots) == 0 {
		message += fmt.Sprintf("; while %d are, retention deletes no other", maxDeleting)
	}
	status.add(Problem{Claim: claim, Reason: v1alpha1.ReasonDeletionStuck, Message: message + "; " + askStorage(oldest)})
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

// addKeepsClaim adds that a snapshot which is not ready keeps a PVC from being deleted: the snapshot
// controller waits for each that was taken of the PVC's name, terminating ones included. Those of
// groups are their members.
func addKeepsClaim(next *time.Time, status *keyStatus, claim client.Object, snapshots []client.Object, now time.Time) {
	since := claim.GetDeletionTimestamp()
	if since == nil {
		return
	}
	var keep []client.Object
	for _, o := range snapshots {
		if backup.ClaimName(o) == claim.GetName() && !backup.ReadyToUse(o) {
			keep = append(keep, o)
		}
	}
	due := since.Add(claimPatience)
	switch {
	case len(keep) == 0:
	case now.Before(due):
		*next = earliest(*next, due)
	default:
		what, more := fmt.Sprintf("volumesnapshot '%s'", keep[0].GetName()), ""
		if group := backup.GroupLabel(keep[0]); group != "" {
			what = fmt.Sprintf("volumegroupsnapshot '%s'", group)
		}
		if n := len(keep) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		status.add(Problem{Claim: claim.GetName(), Reason: v1alpha1.ReasonSnapshotKeepsClaim, Message: fmt.Sprintf(
			"the PVC is being deleted, and stays until VolumeSnapshot %s%s is ready or deleted: kubectl delete -n '%s' %s",
			keep[0].GetName(), more, claim.GetNamespace(), what)})
	}
}

// addRestores adds that PVCs stay Pending which are restored from one of some snapshots. claim is the PVC
// of a series whose status names none.
func addRestores(next *time.Time, status *keyStatus, claim string, snapshots, related []client.Object, now time.Time) {
	var first client.Object
	var from string
	pending := 0
	for _, o := range related {
		restore, isClaim := o.(*corev1.PersistentVolumeClaim)
		if !isClaim {
			continue
		}
		_, source, restoring := restoringFrom(restore)
		if !restoring || !slices.ContainsFunc(snapshots, func(o client.Object) bool { return o.GetName() == source }) {
			continue
		}
		if due := restore.CreationTimestamp.Add(restorePatience); now.Before(due) {
			*next = earliest(*next, due)
			continue
		}
		if pending++; first == nil || olderClaim(restore, first) {
			first, from = restore, source
		}
	}
	if first == nil {
		return
	}
	more := ""
	if pending > 1 {
		more = fmt.Sprintf(" (and %d more PVCs)", pending-1)
	}
	status.add(Problem{Claim: claim, Reason: v1alpha1.ReasonRestorePending, Message: fmt.Sprintf(
		"PVC %s/%s%s is restored from VolumeSnapshot %s, and Pending for more than %s; the snapshot is kept as long: "+
			"kubectl describe -n '%s' pvc '%s'",
		first.GetNamespace(), first.GetName(), more, from, restorePatience, first.GetNamespace(), first.GetName())})
}

// olderClaim orders PVCs by age, then by name.
func olderClaim(a, b client.Object) bool {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time),
		strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())) < 0
}
