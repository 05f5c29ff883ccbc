// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

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
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

const (
	// quietDays is how long there are no faults before the final state is judged: the longest upload and an interval.
	quietDays = 5
	// slack is how long a healthy cluster may take for what is due.
	slack = 30 * time.Minute
)

// finalState judges the state after days without faults by the contract. It is L1 for a simulation: there is no run of the same
// seed without faults to compare with.
type finalState struct {
	*simulation

	claims []*corev1.PersistentVolumeClaim
	found  []oracle.Violation
}

func judgeFinalState(sim *simulation) []oracle.Violation {
	f := &finalState{simulation: sim}
	if sim.stopped {
		f.fail("the operators had been stopped after %d requests", mostRequests)
		return f.found
	}
	for _, o := range sim.server.List(kube.Claims) {
		f.claims = append(f.claims, o.(*corev1.PersistentVolumeClaim))
	}
	for _, o := range sim.server.List(kube.Schedules) {
		f.judgeSchedule(o.(*v1alpha1.SnapshotSchedule))
	}
	for _, wrong := range oracle.StatusErrors(sim.objects(), sim.now) {
		f.fail("SnapshotSchedule %s", wrong)
	}
	for _, name := range oracle.Overdue(sim.objects(), sim.now.Add(-slack)) {
		f.fail("VolumeSnapshot %s should have been deleted", name)
	}
	f.judgeClaims()
	return f.found
}

func (f *finalState) fail(format string, args ...any) {
	f.found = append(f.found, oracle.Violation{
		Oracle: "L1", At: f.now, Message: "at the end " + fmt.Sprintf(format, args...), Change: -1, Request: -1,
	})
}

func (f *finalState) judgeSchedule(s *v1alpha1.SnapshotSchedule) {
	if s.DeletionTimestamp != nil {
		if !f.waitsForRestore(s) {
			f.fail("SnapshotSchedule %s is still being deleted, with finalizers %v", s.Name, s.Finalizers)
		}
		return
	}
	if slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease) {
		f.fail("SnapshotSchedule %s with deletionPolicy %s has finalizers %v", s.Name, s.Spec.DeletionPolicy, s.Finalizers)
	}
	spec, err := oracle.ReadSpec(&s.Spec)
	if err != nil {
		f.expectReady(s, v1alpha1.ReasonInvalidSpec)
		return
	}
	selected := 0
	for _, claim := range f.claims {
		if !selects(s, claim) {
			continue
		}
		selected++
		if !s.Spec.Suspend && claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound {
			f.judgeSlot(s, spec, claim)
		}
	}
	for _, v := range f.snapshots() {
		f.judgeOwnership(s, v)
	}
	f.judgeConditions(s, selected)
}

func selects(s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	selector, err := s.Spec.Selector.AsSelector()
	must(err)
	return selector.Matches(labels.Set(claim.Labels))
}

// waitsForRestore returns whether a foreground deletion waits for something that no operator can help: a terminating snapshot from
// which a PVC is being restored, and that PVC may wait for a foreign snapshot for ever.
func (f *finalState) waitsForRestore(s *v1alpha1.SnapshotSchedule) bool {
	return slices.Equal(s.Finalizers, []string{kube.FinalizerForeground}) &&
		slices.ContainsFunc(f.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
			return v.DeletionTimestamp != nil && metav1.IsControlledBy(v, s) && f.driver.restoring(client.ObjectKeyFromObject(v))
		})
}

// judgeOwnership: orphans are adopted, and snapshots without the labels are released; under deletionPolicy Orphan all are.
func (f *finalState) judgeOwnership(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) {
	tagged := v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
	switch ref := metav1.GetControllerOf(v); {
	case ownsByLabels(s) && ref != nil && ref.UID == s.UID:
		f.fail("VolumeSnapshot %s still refers to SnapshotSchedule %s with deletionPolicy Orphan", v.Name, s.Name)
	case ref == nil && tagged && v.DeletionTimestamp == nil && !ownsByLabels(s):
		f.fail("VolumeSnapshot %s is an orphan that SnapshotSchedule %s has not adopted", v.Name, s.Name)
	case ref != nil && ref.UID == s.UID && !tagged:
		f.fail("VolumeSnapshot %s is still controlled by SnapshotSchedule %s, although a user released it by its labels", v.Name, s.Name)
	}
}

func ownsByLabels(s *v1alpha1.SnapshotSchedule) bool {
	return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// owns returns whether a snapshot is a schedule's own.
func owns(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) bool {
	return metav1.IsControlledBy(v, s) || ownsByLabels(s) && metav1.GetControllerOf(v) == nil && v.Namespace == s.Namespace &&
		v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
}

// judgeSlot: the latest slot has a snapshot, and it is ready.
func (f *finalState) judgeSlot(s *v1alpha1.SnapshotSchedule, spec *oracle.Spec, claim *corev1.PersistentVolumeClaim) {
	slot, due := spec.LatestSlot(oracle.Anchor(s, claim), f.now.Add(-slack))
	if !due || spec.TTL > 0 && f.now.Sub(slot) >= spec.TTL {
		return
	}
	for _, v := range f.snapshots() {
		at, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
		if err == nil && !at.Before(slot) && v.Labels[v1alpha1.LabelMapKey] == string(claim.UID) && owns(s, v) {
			if v.Status == nil || v.Status.ReadyToUse == nil || !*v.Status.ReadyToUse {
				f.fail("VolumeSnapshot %s is not ready", v.Name)
			}
			return
		}
	}
	f.fail("PVC %s has no snapshot for slot %s of SnapshotSchedule %s", claim.Name, slot.UTC().Format(time.RFC3339), s.Name)
}

// judgeConditions: the status says that the schedule works. Its counts and times are oracle.StatusErrors' part.
func (f *finalState) judgeConditions(s *v1alpha1.SnapshotSchedule, selected int) {
	if next := s.Status.NextSnapshotTime; next != nil && (s.Spec.Suspend || !next.After(f.now.Add(-slack))) {
		f.fail("SnapshotSchedule %s: nextSnapshotTime is %v, suspend is %t", s.Name, next, s.Spec.Suspend)
	}
	if meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRetentionPaused) {
		f.fail("SnapshotSchedule %s: retention is paused", s.Name)
	}
	switch {
	case s.Spec.Suspend:
		f.expectReady(s, v1alpha1.ReasonSuspended)
	case selected == 0:
		f.expectReady(s, v1alpha1.ReasonNoMatchingClaims)
	default:
		f.expectReady(s, v1alpha1.ReasonScheduled)
	}
}

func (f *finalState) expectReady(s *v1alpha1.SnapshotSchedule, reason string) {
	got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if got == nil || got.Reason != reason {
		f.fail("SnapshotSchedule %s: condition Ready is %+v, want reason %s", s.Name, got, reason)
	}
}

// judgeClaims: no PVC that is being deleted waits until a snapshot of ours is cut.
func (f *finalState) judgeClaims() {
	for _, claim := range f.claims {
		if claim.DeletionTimestamp != nil && !f.waitsForOthers(claim) {
			f.fail("PVC %s is still being deleted", claim.Name)
		}
	}
}

// waitsForOthers returns whether a PVC that is being deleted is the source of a snapshot that is foreign or held.
func (f *finalState) waitsForOthers(claim *corev1.PersistentVolumeClaim) bool {
	return slices.ContainsFunc(f.snapshots(), func(v *snapshotv1.VolumeSnapshot) bool {
		ours := v.Labels[v1alpha1.LabelMapKey] == string(claim.UID) &&
			slices.ContainsFunc(f.server.List(kube.Schedules), func(o client.Object) bool { return owns(o.(*v1alpha1.SnapshotSchedule), v) })
		_, held := v.Annotations[v1alpha1.AnnotationHold]
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") == claim.Name &&
			(!ours || held || f.driver.restoring(client.ObjectKeyFromObject(v)))
	})
}

// judgeNameCollision replaces the newest snapshot of a PVC by a foreign object of its name. The operator must report the collision for
// as long as that object exists, and take the snapshot once it is gone.
func (sc *scenario) judgeNameCollision() []oracle.Violation {
	v, s := sc.replaceable()
	if v == nil || sc.stopped {
		return nil
	}
	key := client.ObjectKeyFromObject(v)
	remove := func() {
		_, _ = sc.server.Update(kube.Snapshots, key, kube.NoRequest, func(o client.Object) error {
			o.SetFinalizers(nil)
			return nil
		})
		_ = sc.server.Delete(kube.Snapshots, key, metav1.DeleteOptions{}, kube.NoRequest)
	}
	remove()
	sc.createSnapshot(v.Name, v, sc.foreignController())
	sc.run(sc.now.Add(slack))

	f := &finalState{simulation: sc.simulation}
	claim := *v.Spec.Source.PersistentVolumeClaimName
	reported := slices.ContainsFunc(sc.schedule(s.Name).Status.Problems, func(p v1alpha1.Problem) bool {
		return p.PersistentVolumeClaim == claim && p.Reason == v1alpha1.ReasonNameCollision
	})
	if !reported {
		f.fail("a foreign object has the name of VolumeSnapshot %s, and the problems of SnapshotSchedule %s are %+v",
			v.Name, s.Name, sc.schedule(s.Name).Status.Problems)
	}
	f.expectReady(sc.schedule(s.Name), v1alpha1.ReasonSnapshotsFailing)

	remove()
	sc.run(sc.now.Add(slack))
	if again := sc.find(kube.Snapshots, v.Name); again == nil || !owns(s, again.(*snapshotv1.VolumeSnapshot)) {
		f.fail("the name of VolumeSnapshot %s is free again, and the snapshot was not taken", v.Name)
	}
	return f.found
}

// replaceable finds a snapshot whose slot stays the latest one, and due, for long enough.
func (sc *scenario) replaceable() (*snapshotv1.VolumeSnapshot, *v1alpha1.SnapshotSchedule) {
	for _, v := range sc.snapshots() {
		ref := metav1.GetControllerOf(v)
		source := v.Spec.Source.PersistentVolumeClaimName
		if ref == nil || source == nil || v.DeletionTimestamp != nil || v.Labels[v1alpha1.LabelSchedule] != ref.Name {
			continue
		}
		s := sc.schedule(ref.Name)
		claim, _ := sc.find(kube.Claims, *source).(*corev1.PersistentVolumeClaim)
		if s != nil && s.UID == ref.UID && claim != nil && string(claim.UID) == v.Labels[v1alpha1.LabelMapKey] && sc.staysDue(v, s, claim) {
			return v, s
		}
	}
	return nil, nil
}

func (sc *scenario) staysDue(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim) bool {
	then := sc.now.Add(3 * slack)
	spec, invalid := oracle.ReadSpec(&s.Spec)
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
	latest, ok := spec.LatestSlot(oracle.Anchor(s, claim), then)
	return ok && latest.Equal(slot)
}
