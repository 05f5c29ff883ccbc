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
	"k8s.io/apimachinery/pkg/types"
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

// end judges the state after days without faults by the contract (L1): there is no run without faults to compare with.
type end struct {
	*world
	claims []*corev1.PersistentVolumeClaim
	found  []string
}

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
		o.frozen = [len(o.frozen)]time.Time{}
	}
}

func (w *world) judgeEnd() []string {
	e := &end{world: w}
	for _, o := range w.server.List(kube.Claims) {
		e.claims = append(e.claims, o.(*corev1.PersistentVolumeClaim))
	}
	for _, o := range w.server.List(kube.Schedules) {
		e.judgeSchedule(o.(*v1alpha1.SnapshotSchedule))
	}
	for _, wrong := range judge.StatusErrors(w.objects(), time.Now()) {
		e.fail("SnapshotSchedule %s", wrong)
	}
	for _, name := range judge.Overdue(w.objects(), time.Now().Add(-slack)) {
		e.fail("VolumeSnapshot %s should have been deleted", name)
	}
	for _, claim := range e.claims {
		if claim.DeletionTimestamp != nil && !e.waitsForOthers(claim) {
			e.fail("PVC %s is still being deleted", claim.Name)
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
		e.expectReady(s, v1alpha1.ReasonInvalidSpec)
		return
	}
	selected := 0
	for _, claim := range e.claims {
		if !selects(s, claim) {
			continue
		}
		selected++
		if !s.Spec.Suspend && claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound {
			e.judgeSlot(s, spec, claim)
		}
	}
	for _, v := range e.snapshots() {
		e.judgeOwnership(s, v)
	}
	e.judgeConditions(s, selected)
}

func selects(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	selector, err := s.Spec.Selector.AsSelector()
	must(err)
	return selector.Matches(labels.Set(claim.Labels))
}

// waitsForRestore returns whether a foreground deletion waits for something that no operator can help: a terminating snapshot from
// which a PVC is being restored, and that PVC may wait for a foreign snapshot for ever.
func (w *world) waitsForRestore(s *v1alpha1.SnapshotSchedule) bool {
	return slices.Equal(s.Finalizers, []string{kube.FinalizerForeground}) &&
		slices.ContainsFunc(w.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
			return v.DeletionTimestamp != nil && metav1.IsControlledBy(v, s) && w.restoring(v.Name)
		})
}

// judgeOwnership: orphans are adopted, and snapshots without the labels are released; under deletionPolicy Orphan all are.
func (e *end) judgeOwnership(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) {
	tagged := v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
	switch ref := metav1.GetControllerOf(v); {
	case ownsByLabels(s) && ref != nil && ref.UID == s.UID:
		e.fail("VolumeSnapshot %s still refers to SnapshotSchedule %s with deletionPolicy Orphan", v.Name, s.Name)
	case ref == nil && tagged && v.DeletionTimestamp == nil && !ownsByLabels(s):
		e.fail("VolumeSnapshot %s is an orphan that SnapshotSchedule %s has not adopted", v.Name, s.Name)
	case ref != nil && ref.UID == s.UID && !tagged:
		e.fail("VolumeSnapshot %s is still controlled by SnapshotSchedule %s, although a user released it by its labels", v.Name, s.Name)
	}
}

func ownsByLabels(s *v1alpha1.SnapshotSchedule) bool {
	return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// owns returns whether a snapshot is a schedule's own.
func owns(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) bool {
	return metav1.IsControlledBy(v, s) || ownsByLabels(s) && metav1.GetControllerOf(v) == nil &&
		v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
}

// judgeSlot: the latest slot has a snapshot, and it is ready.
func (e *end) judgeSlot(s *v1alpha1.SnapshotSchedule, spec *judge.Spec, claim *corev1.PersistentVolumeClaim) {
	slot, due := spec.LatestSlot(judge.Anchor(s, claim), time.Now().Add(-slack))
	if !due || spec.TTL > 0 && time.Since(slot) >= spec.TTL {
		return
	}
	for _, v := range e.snapshots() {
		at, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
		if err == nil && !at.Before(slot) && v.Labels[v1alpha1.LabelMapKey] == string(claim.UID) && owns(s, v) {
			if v.Status == nil || !ptr.Deref(v.Status.ReadyToUse, false) {
				e.fail("VolumeSnapshot %s is not ready", v.Name)
			}
			return
		}
	}
	e.fail("PVC %s has no snapshot for slot %s of SnapshotSchedule %s", claim.Name, slot.UTC().Format(time.RFC3339), s.Name)
}

// judgeConditions: the status says that the schedule works. Its counts and times are judge.StatusErrors' part.
func (e *end) judgeConditions(s *v1alpha1.SnapshotSchedule, selected int) {
	if next := s.Status.NextSnapshotTime; next != nil && (s.Spec.Suspend || !next.After(time.Now().Add(-slack))) {
		e.fail("SnapshotSchedule %s: nextSnapshotTime is %v, suspend is %t", s.Name, next, s.Spec.Suspend)
	}
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRetentionPaused) {
		e.fail("SnapshotSchedule %s: retention is paused", s.Name)
	}
	switch {
	case s.Spec.Suspend:
		e.expectReady(s, v1alpha1.ReasonSuspended)
	case selected == 0:
		e.expectReady(s, v1alpha1.ReasonNoMatchingClaims)
	default:
		e.expectReady(s, v1alpha1.ReasonScheduled)
	}
}

func (e *end) expectReady(s *v1alpha1.SnapshotSchedule, reason string) {
	if got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); got == nil || got.Reason != reason {
		e.fail("SnapshotSchedule %s: condition Ready is %+v, want reason %s", s.Name, got, reason)
	}
}

// waitsForOthers returns whether a PVC that is being deleted is the source of a snapshot that is foreign or held.
func (e *end) waitsForOthers(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(e.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
		ours := v.Labels[v1alpha1.LabelMapKey] == string(claim.UID) &&
			slices.ContainsFunc(e.server.List(kube.Schedules), func(o client.Object) bool { return owns(o.(*v1alpha1.SnapshotSchedule), v) })
		_, held := v.Annotations[v1alpha1.AnnotationHold]
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") == claim.Name && (!ours || held || e.restoring(v.Name))
	})
}

// judgeNameCollision replaces the newest snapshot of a PVC by a foreign object of its name. The operator must report the collision for
// as long as that object exists, and take the snapshot once it is gone.
func (w *world) judgeNameCollision() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, s := w.replaceable()
	if v == nil {
		return nil
	}
	pass := func() {
		w.mu.Unlock()
		time.Sleep(slack)
		w.mu.Lock()
	}
	remove := func() {
		w.edit(kube.Snapshots, v.Name, func(o client.Object) { o.SetFinalizers(nil) })
		w.delete(kube.Snapshots, v.Name)
	}
	remove()
	w.createSnapshot(v.Name, v, w.foreignController())
	pass()
	e, claim := &end{world: w}, *v.Spec.Source.PersistentVolumeClaimName
	if !slices.ContainsFunc(w.schedule(s.Name).Status.Problems, func(p v1alpha1.Problem) bool {
		return p.PersistentVolumeClaim == claim && p.Reason == v1alpha1.ReasonNameCollision
	}) {
		e.fail("a foreign object has the name of VolumeSnapshot %s, and the problems of SnapshotSchedule %s are %+v",
			v.Name, s.Name, w.schedule(s.Name).Status.Problems)
	}
	e.expectReady(w.schedule(s.Name), v1alpha1.ReasonSnapshotsFailing)
	remove()
	pass()
	if again := w.find(kube.Snapshots, v.Name); again == nil || !owns(s, again.(*snapshotv1.VolumeSnapshot)) {
		e.fail("the name of VolumeSnapshot %s is free again, and the snapshot was not taken", v.Name)
	}
	return e.found
}

// replaceable finds a snapshot whose slot stays the latest one, and due, for long enough.
func (w *world) replaceable() (*snapshotv1.VolumeSnapshot, *v1alpha1.SnapshotSchedule) {
	for _, v := range w.snapshots() {
		source := v.Spec.Source.PersistentVolumeClaimName
		s := w.schedule(v.Labels[v1alpha1.LabelSchedule])
		if s == nil || source == nil || v.DeletionTimestamp != nil || !metav1.IsControlledBy(v, s) {
			continue
		}
		claim, _ := w.find(kube.Claims, *source).(*corev1.PersistentVolumeClaim)
		if claim != nil && claim.UID == types.UID(v.Labels[v1alpha1.LabelMapKey]) && staysDue(v, s, claim) {
			return v, s
		}
	}
	return nil, nil
}

func staysDue(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	then := time.Now().Add(3 * slack)
	spec, invalid := judge.ReadSpec(&s.Spec)
	slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || invalid != nil || s.Spec.Suspend || spec.Jitter > 0 || !selects(s, claim) ||
		claim.Status.Phase != corev1.ClaimBound || claim.DeletionTimestamp != nil {
		return false
	}
	for _, limit := range []time.Duration{spec.TTL, spec.StartingDeadline} {
		if limit > 0 && then.Sub(slot) >= limit {
			return false
		}
	}
	if _, requested := s.Annotations[v1alpha1.AnnotationRequestedAt]; requested {
		return false
	}
	latest, ok := spec.LatestSlot(judge.Anchor(s, claim), then)
	return ok && latest.Equal(slot)
}

// goIdle leaves nothing to do: no slots, and nothing that may expire.
func (u *users) goIdle() {
	for _, o := range u.server.List(kube.Schedules) {
		u.edit(kube.Schedules, o.GetName(), func(o client.Object) {
			spec := &o.(*v1alpha1.SnapshotSchedule).Spec
			repairSpec(u.r, spec) // under an invalid spec the counts stay what they were
			spec.Suspend = true
			o.SetAnnotations(nil)
		})
	}
	for _, s := range u.snapshots() {
		u.annotate(kube.Snapshots, s.Name, v1alpha1.AnnotationHold, new(""))
	}
}
