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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
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
	for _, o := range u.operators[min(1, len(u.operators)):] {
		o.kill()
	}
	u.restart()
	for _, o := range u.operators {
		o.frozen = [kube.Kinds]time.Time{}
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
}

// end judges the state after days without faults by the contract (L1): there is no run without faults to compare with.
type end struct {
	*world
	found []string
}

func (w *world) judgeEnd() []string {
	e := &end{world: w}
	for _, s := range w.schedules() {
		e.judgeSchedule(s)
	}
	for _, wrong := range judge.StatusErrors(w.objects(), time.Now()) {
		e.fail("SnapshotSchedule %s", wrong)
	}
	for _, name := range judge.Overdue(w.objects(), time.Now().Add(-slack)) {
		e.fail("VolumeSnapshot %s should have been deleted", name)
	}
	for _, c := range w.claims() {
		if c.DeletionTimestamp != nil && !w.waitsForOthers(c) {
			e.fail("PVC %s is still being deleted", c.Name)
		}
	}
	return e.found
}

func (e *end) fail(format string, args ...any) {
	e.found = append(e.found, "L1: at the end "+fmt.Sprintf(format, args...))
}

func (e *end) judgeSchedule(s *v1alpha1.SnapshotSchedule) {
	if s.DeletionTimestamp != nil {
		if !e.waitsForRestore(s) {
			e.fail("SnapshotSchedule %s is still being deleted, with finalizers %v", s.Name, s.Finalizers)
		}
		return
	}
	if slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
		e.fail("SnapshotSchedule %s with deletionPolicy %s has finalizers %v", s.Name, s.Spec.DeletionPolicy, s.Finalizers)
	}
	spec, err := judge.ReadSpec(&s.Spec)
	if err != nil {
		e.judgeReady(s, v1alpha1.ReasonInvalidSpec)
		return
	}
	for _, v := range e.snapshots() {
		e.judgeOwnership(s, v)
	}
	ready := v1alpha1.ReasonNoMatchingClaims
	for _, c := range e.claims() {
		if !selects(s, c) {
			continue
		}
		ready = v1alpha1.ReasonScheduled
		if !s.Spec.Suspend && c.DeletionTimestamp == nil && c.Status.Phase == corev1.ClaimBound {
			e.judgeSlot(s, spec, c)
		}
	}
	if s.Spec.Suspend {
		ready = v1alpha1.ReasonSuspended
	}
	e.judgeReady(s, ready)
	// The counts and other times of the status are judge.StatusErrors' part.
	if next := s.Status.NextSnapshotTime; next != nil && (s.Spec.Suspend || !next.After(time.Now().Add(-slack))) {
		e.fail("SnapshotSchedule %s: nextSnapshotTime is %v, suspend is %t", s.Name, next, s.Spec.Suspend)
	}
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRetentionPaused) {
		e.fail("SnapshotSchedule %s: retention is paused", s.Name)
	}
}

func (e *end) judgeReady(s *v1alpha1.SnapshotSchedule, reason string) {
	if got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); got == nil || got.Reason != reason {
		e.fail("SnapshotSchedule %s: condition Ready is %+v, want reason %s", s.Name, got, reason)
	}
}

// judgeOwnership: orphans are adopted, and snapshots without the labels are released; under deletionPolicy Orphan all are.
func (e *end) judgeOwnership(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) {
	switch ref := metav1.GetControllerOf(v); {
	case ownsByLabels(s) && ref != nil && ref.UID == s.UID:
		e.fail("VolumeSnapshot %s still refers to SnapshotSchedule %s with deletionPolicy Orphan", v.Name, s.Name)
	case ref == nil && isTagged(s, v) && v.DeletionTimestamp == nil && !ownsByLabels(s):
		e.fail("VolumeSnapshot %s is an orphan that SnapshotSchedule %s has not adopted", v.Name, s.Name)
	case ref != nil && ref.UID == s.UID && !isTagged(s, v):
		e.fail("VolumeSnapshot %s is still controlled by SnapshotSchedule %s, although a user released it by its labels", v.Name, s.Name)
	}
}

// judgeSlot: the latest slot has a snapshot, and it is ready.
func (e *end) judgeSlot(s *v1alpha1.SnapshotSchedule, spec *judge.Spec, c *corev1.PersistentVolumeClaim) {
	slot, due := spec.LatestSlot(judge.Anchor(s, c), time.Now().Add(-slack))
	if !due || spec.TTL > 0 && time.Since(slot) >= spec.TTL {
		return
	}
	for _, v := range e.snapshots() {
		at, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
		if err == nil && !at.Before(slot) && v.Labels[v1alpha1.LabelMapKey] == string(c.UID) && owns(s, v) {
			if v.Status == nil || !ptr.Deref(v.Status.ReadyToUse, false) {
				e.fail("VolumeSnapshot %s is not ready", v.Name)
			}
			return
		}
	}
	e.fail("PVC %s has no snapshot for slot %s of SnapshotSchedule %s", c.Name, slot.UTC().Format(time.RFC3339), s.Name)
}

func selects(s *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) bool {
	selector, err := s.Spec.Selector.AsSelector()
	must(err)
	return selector.Matches(labels.Set(c.Labels))
}

func ownsByLabels(s *v1alpha1.SnapshotSchedule) bool {
	return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

func isTagged(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) bool {
	return v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
}

// owns returns whether a snapshot is a schedule's own.
func owns(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) bool {
	return metav1.IsControlledBy(v, s) || ownsByLabels(s) && metav1.GetControllerOf(v) == nil && isTagged(s, v)
}

// waitsForRestore returns whether a foreground deletion waits for something that no operator can help: a terminating snapshot from
// which a PVC is being restored, and that PVC may wait for a foreign snapshot for ever.
func (w *world) waitsForRestore(s *v1alpha1.SnapshotSchedule) bool {
	return slices.Equal(s.Finalizers, []string{metav1.FinalizerDeleteDependents}) &&
		slices.ContainsFunc(w.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
			return v.DeletionTimestamp != nil && metav1.IsControlledBy(v, s) && w.restoring(v.Name)
		})
}

// waitsForOthers returns whether a PVC that is being deleted is the source of a snapshot that is foreign or held.
func (w *world) waitsForOthers(c *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(w.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
		ours := v.Labels[v1alpha1.LabelMapKey] == string(c.UID) &&
			slices.ContainsFunc(w.schedules(), func(s *v1alpha1.SnapshotSchedule) bool { return owns(s, v) })
		_, held := v.Annotations[v1alpha1.AnnotationHold]
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") == c.Name && (!ours || held || w.restoring(v.Name))
	})
}
