// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"fmt"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

const (
	// quietDays is how long there are no faults before the end is judged: the longest upload and an interval.
	quietDays = 5
	// slack is how long a healthy cluster may take for what is due.
	slack = 30 * time.Minute
)

// stopFaults ends all faults, and leaves one operator.
func (u *users) stopFaults() {
	u.quiet = true
	u.faults = faults{}
	u.setClocks(0, 0)
	u.driver.recover()
	if u.takesGroups {
		u.freeClaims()
	}
	for _, o := range u.operators[min(1, len(u.operators)):] {
		o.kill()
	}
	u.restart()
	for _, o := range u.operators {
		o.frozen = [kube.Kinds]time.Time{}
	}
}

// freeClaims deletes what claims to be a member of a group snapshot and keeps a PVC from being deleted: the operator may not, and the group of
// that PVC is stopped meanwhile.
func (u *users) freeClaims() {
	for _, v := range u.snapshots() {
		keeps := func(c *corev1.PersistentVolumeClaim) bool { return c.DeletionTimestamp != nil && keepsClaim(v, c) }
		if groupOf(v) == "" && slices.ContainsFunc(u.claims(), keeps) {
			u.delete(kube.Snapshots, v.Name)
			u.edit(kube.Snapshots, v.Name, func(o client.Object) { o.SetFinalizers(nil) }) // also if a PVC is restored from it
		}
	}
}

// goIdle leaves nothing to do: no slots, and nothing that may expire.
func (u *users) goIdle() {
	for _, s := range u.schedules() {
		u.edit(kube.Schedules, s.Name, func(o client.Object) {
			spec := &o.(*v1alpha1.SnapshotSchedule).Spec
			repairSpec(u.r, spec) // under an invalid spec the counts stay what they were
			spec.Suspend = true
			o.SetAnnotations(nil)
		})
	}
	for _, s := range u.snapshots() {
		u.hold(s)
	}
	for _, g := range u.groups() {
		u.annotate(kube.Groups, g.Name, v1alpha1.AnnotationHold, "")
	}
}

// judgeEnd judges the state after days without faults by the contract (L1): there is no run without faults to compare with.
func (w *world) judgeEnd() (found []string) {
	if w.takesGroups {
		return w.judgeGroups()
	}
	fail := func(format string, args ...any) {
		found = append(found, "L1: at the end "+fmt.Sprintf(format, args...))
	}
	all := w.state()
	for _, wrong := range slices.Concat(judge.StatusErrors(all, time.Now()), judge.Late(all, time.Now(), slack)) {
		fail("%s", wrong)
	}
	for _, name := range judge.Unready(all, time.Now().Add(-slack)) {
		fail("VolumeSnapshot %s is not ready", name)
	}
	for _, c := range w.claims() {
		if c.DeletionTimestamp != nil && !w.waitsForOthers(c) {
			fail("PVC %s is still being deleted", c.Name)
		}
	}
	for _, s := range w.schedules() {
		switch {
		case s.DeletionTimestamp == nil:
			w.judgeSchedule(s, fail)
		case !w.waitsForRestore(s):
			fail("SnapshotSchedule %s is still being deleted, with finalizers %v", s.Name, s.Finalizers)
		}
	}
	return found
}

// statusErrors returns where the status of schedules contradicts what there is.
func (w *world) statusErrors() []string {
	if w.takesGroups {
		return w.groupStatusErrors()
	}
	return judge.StatusErrors(w.state(), time.Now())
}

// judgeSchedule judges what the judge of the counts and times in its status does not.
func (w *world) judgeSchedule(s *v1alpha1.SnapshotSchedule, fail func(format string, args ...any)) {
	if slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
		fail("SnapshotSchedule %s with deletionPolicy %s has finalizers %v", s.Name, s.Spec.DeletionPolicy, s.Finalizers)
	}
	_, invalid := judge.ReadSpec(&s.Spec)
	reason := v1alpha1.ReasonScheduled
	switch {
	case invalid != nil:
		reason = v1alpha1.ReasonInvalidSpec
	case w.state().StuckDeletes(s, time.Now()) > 0: // a PVC is restored from it, or the user's own driver keeps it
		reason = v1alpha1.ReasonRetentionFailing
	case s.Spec.Suspend:
		reason = v1alpha1.ReasonSuspended
	case s.Status.Inputs == nil || s.Status.Inputs.PersistentVolumeClaims.Total == 0:
		reason = v1alpha1.ReasonNoMatchingClaims
	}
	if got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); got == nil || got.Reason != reason {
		fail("SnapshotSchedule %s: condition Ready is %+v, want reason %s", s.Name, got, reason)
	}
	if invalid != nil {
		return
	}
	for _, v := range w.snapshots() {
		switch controlled, tagged := metav1.IsControlledBy(v, s), judge.IsTagged(v, s); {
		case judge.OwnsByLabels(s) && controlled:
			fail("VolumeSnapshot %s still refers to SnapshotSchedule %s with deletionPolicy Orphan", v.Name, s.Name)
		case metav1.GetControllerOf(v) == nil && tagged && v.DeletionTimestamp == nil && !judge.OwnsByLabels(s):
			fail("VolumeSnapshot %s is an orphan that SnapshotSchedule %s has not adopted", v.Name, s.Name)
		case controlled && !tagged:
			fail("VolumeSnapshot %s is still controlled by SnapshotSchedule %s, although a user released it by its labels", v.Name, s.Name)
		}
	}
	if next := s.Status.NextSnapshotTime; next != nil && (s.Spec.Suspend || !next.After(time.Now().Add(-slack))) {
		fail("SnapshotSchedule %s: nextSnapshotTime is %v, suspend is %t", s.Name, next, s.Spec.Suspend)
	}
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRetentionPaused) {
		fail("SnapshotSchedule %s: retention is paused", s.Name)
	}
}

// waitsForRestore returns whether a foreground deletion waits for something that no operator can help: a terminating snapshot from
// which a PVC is being restored, and that PVC may wait for a foreign snapshot for ever.
func (w *world) waitsForRestore(s *v1alpha1.SnapshotSchedule) bool {
	return slices.Equal(s.Finalizers, []string{metav1.FinalizerDeleteDependents}) &&
		slices.ContainsFunc(w.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
			return v.DeletionTimestamp != nil && metav1.IsControlledBy(v, s) && w.restoring(v.Name)
		})
}

// waitsForOthers returns whether a PVC that is being deleted waits for a snapshot that no operator can help: a foreign one, or
// one that holds data and is held.
func (w *world) waitsForOthers(c *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(w.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
		ours := v.Labels[v1alpha1.LabelMapKey] == string(c.UID) &&
			slices.ContainsFunc(w.schedules(), func(s *v1alpha1.SnapshotSchedule) bool { return judge.Owned(v, s) })
		_, held := v.Annotations[v1alpha1.AnnotationHold]
		return keepsClaim(v, c) && (!ours || held && isCut(v) || w.restoring(v.Name))
	})
}
