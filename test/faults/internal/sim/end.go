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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

const (
	// calmDays is how long nothing goes wrong before the end state is judged: as
	// long as the longest upload, and an interval.
	calmDays = 5
	// slack is what a healthy cluster may take for what is due.
	slack = 30 * time.Minute
)

// end is the state that a life has come to, in which nothing has gone wrong for
// days: what the contract promises must hold.
type end struct {
	*world

	claims    []*corev1.PersistentVolumeClaim
	snapshots []*snapshotv1.VolumeSnapshot
	byUID     map[types.UID]*corev1.PersistentVolumeClaim
	found     []oracle.Violation
}

// judgeEnd is L1 for a life that can't be lived without its faults: what it does
// after them must be what a schedule does.
func judgeEnd(w *world) []oracle.Violation {
	e := &end{world: w, byUID: map[types.UID]*corev1.PersistentVolumeClaim{}}
	if w.stopped {
		e.fail("the operators had been stopped, for they had made %d requests", mostRequests)
		return e.found
	}
	for _, o := range w.server.List(kube.Claims) {
		claim := o.(*corev1.PersistentVolumeClaim)
		e.claims = append(e.claims, claim)
		e.byUID[claim.UID] = claim
	}
	for _, o := range w.server.List(kube.Snapshots) {
		e.snapshots = append(e.snapshots, o.(*snapshotv1.VolumeSnapshot))
	}
	for _, o := range w.server.List(kube.Schedules) {
		e.judge(o.(*v1alpha1.SnapshotSchedule))
	}
	e.judgeClaims()
	return e.found
}

func (e *end) fail(format string, args ...any) {
	e.found = append(e.found, oracle.Violation{
		Oracle: "L1", At: e.now, Message: "at the end " + fmt.Sprintf(format, args...), Change: -1, Request: -1,
	})
}

func (e *end) judge(s *v1alpha1.SnapshotSchedule) {
	if s.DeletionTimestamp != nil {
		if slices.Equal(s.Finalizers, []string{kube.FinalizerForeground}) && slices.ContainsFunc(e.snapshots, e.waitsForRestore(s)) {
			return
		}
		e.fail("SnapshotSchedule %s is still being deleted, with finalizers %v", s.Name, s.Finalizers)
		return
	}
	orphan := s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
	if has := slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease); has != orphan {
		e.fail("SnapshotSchedule %s with deletionPolicy %s has finalizers %v", s.Name, s.Spec.DeletionPolicy, s.Finalizers)
	}
	rule, valid := ruleOf(&s.Spec)
	if !valid {
		e.expectReady(s, v1alpha1.ReasonInvalidSpec)
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(&s.Spec.Selector)
	must(err)
	selected := 0
	for _, claim := range e.claims {
		if !selector.Matches(labels.Set(claim.Labels)) {
			continue
		}
		selected++
		if !s.Spec.Suspend && claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound {
			e.judgeServed(s, rule, claim)
		}
	}
	series := map[types.UID][]*snapshotv1.VolumeSnapshot{}
	for _, v := range e.snapshots {
		if e.isOwned(s, v) {
			uid := types.UID(v.Labels[v1alpha1.LabelMapKey])
			series[uid] = append(series[uid], v)
		}
	}
	for uid, all := range series {
		claim := e.byUID[uid]
		e.judgeExpired(s, claim, claim != nil && selector.Matches(labels.Set(claim.Labels)), all)
	}
	e.judgeStatus(s, selector, selected, series)
}

// waitsForRestore finds what a foreground deletion may wait for and no operator
// can help: a snapshot that is on its way out while a PVC is being filled from
// it, which someone else's snapshot may keep from ever ending.
func (e *end) waitsForRestore(s *v1alpha1.SnapshotSchedule) func(*snapshotv1.VolumeSnapshot) bool {
	return func(v *snapshotv1.VolumeSnapshot) bool {
		return v.DeletionTimestamp != nil && metav1.IsControlledBy(v, s) && e.driver.restoring(client.ObjectKeyFromObject(v))
	}
}

// isOwned sorts one snapshot, and judges that what should have been adopted or
// released was.
func (e *end) isOwned(s *v1alpha1.SnapshotSchedule, v *snapshotv1.VolumeSnapshot) bool {
	tagged := v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
	switch ref := metav1.GetControllerOf(v); {
	case ref == nil && tagged && v.DeletionTimestamp == nil:
		e.fail("VolumeSnapshot %s is an orphan that SnapshotSchedule %s has not adopted", v.Name, s.Name)
	case ref != nil && ref.UID == s.UID && !tagged:
		e.fail("VolumeSnapshot %s is still controlled by SnapshotSchedule %s, though a user took it out by its labels", v.Name, s.Name)
	case ref != nil && ref.UID == s.UID:
		return true
	}
	return false
}

// judgeServed: the newest slot that is due has a snapshot, and it is ready.
func (e *end) judgeServed(s *v1alpha1.SnapshotSchedule, r rule, claim *corev1.PersistentVolumeClaim) {
	anchor := s.CreationTimestamp.Time
	if claim.CreationTimestamp.After(anchor) {
		anchor = claim.CreationTimestamp.Time
	}
	slot, due := r.last(e.now.Add(-slack), anchor)
	ttl := lengthOf(s.Spec.SnapshotTTL)
	if !due || ttl > 0 && e.now.Sub(slot) >= ttl {
		return
	}
	for _, v := range e.snapshots {
		at, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
		if err == nil && !at.Before(slot) && v.Labels[v1alpha1.LabelMapKey] == string(claim.UID) && metav1.IsControlledBy(v, s) {
			if v.Status == nil || v.Status.ReadyToUse == nil || !*v.Status.ReadyToUse {
				e.fail("VolumeSnapshot %s is not ready", v.Name)
			}
			return
		}
	}
	e.fail("PVC %s has no snapshot for slot %s of SnapshotSchedule %s", claim.Name, slot.UTC().Format(time.RFC3339), s.Name)
}

// judgeExpired: with a TTL alone, what is older is gone, but for the floor, what
// is held, and the newest.
func (e *end) judgeExpired(
	s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, selected bool, series []*snapshotv1.VolumeSnapshot,
) {
	ttl, floor := lengthOf(s.Spec.SnapshotTTL), int(*s.Spec.Retention.MinReady)
	tiered := s.Spec.Retention.Keep != v1alpha1.Keep{}
	if detached := lengthOf(s.Spec.Retention.Detached.SnapshotTTL); !selected && detached > 0 {
		ttl, tiered = detached, false
	}
	if claim == nil {
		floor = int(s.Spec.Retention.Detached.MinReady)
	}
	if ttl == 0 || tiered {
		return
	}
	for _, v := range series {
		if v.DeletionTimestamp != nil || e.held(v) || e.ageBase(v).Add(ttl+slack).After(e.now) {
			continue
		}
		newer, newerReady := 0, 0
		for _, other := range series {
			if e.slot(other).After(e.slot(v)) {
				newer++
				if isReady(other) {
					newerReady++
				}
			}
		}
		if newer == 0 || isReady(v) && newerReady < floor {
			continue
		}
		e.fail("VolumeSnapshot %s is older than %s and still there, with %d ready ones that are newer", v.Name, ttl, newerReady)
	}
}

func isReady(v *snapshotv1.VolumeSnapshot) bool {
	return v.DeletionTimestamp == nil && v.Status != nil && v.Status.ReadyToUse != nil && *v.Status.ReadyToUse
}

func (e *end) held(v *snapshotv1.VolumeSnapshot) bool {
	if _, held := v.Annotations[v1alpha1.AnnotationHold]; held {
		return true
	}
	for _, claim := range e.claims {
		if source := claim.Spec.DataSource; source != nil && source.Name == v.Name && claim.Status.Phase == corev1.ClaimPending {
			return true
		}
	}
	return false
}

func (e *end) ageBase(v *snapshotv1.VolumeSnapshot) time.Time {
	base := v.CreationTimestamp.Time
	if v.Status != nil && v.Status.CreationTime != nil && v.Status.CreationTime.After(base) && !v.Status.CreationTime.After(e.now) {
		return v.Status.CreationTime.Time
	}
	return base
}

func (e *end) slot(v *snapshotv1.VolumeSnapshot) time.Time {
	at, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt])
	if err != nil || at.After(e.now) {
		return v.CreationTimestamp.Time
	}
	return at
}

// judgeStatus: status says what there is.
func (e *end) judgeStatus(
	s *v1alpha1.SnapshotSchedule, selector labels.Selector, selected int, series map[types.UID][]*snapshotv1.VolumeSnapshot,
) {
	want := v1alpha1.SnapshotScheduleStatus{ObservedGeneration: s.Generation}
	want.Inputs.PersistentVolumeClaims.Total = int32(selected)
	var last time.Time
	for uid, all := range series {
		claim := e.byUID[uid]
		if claim == nil || !selector.Matches(labels.Set(claim.Labels)) {
			want.Detached.MapKeys++
			want.Detached.VolumeSnapshots += int32(len(all))
		}
		for _, v := range all {
			want.Outputs.VolumeSnapshots.Total++
			if v.Status != nil && v.Status.ReadyToUse != nil && *v.Status.ReadyToUse {
				want.Outputs.VolumeSnapshots.Ready++
			}
			if slot := e.slot(v); slot.After(last) {
				last = slot
			}
		}
	}
	got := s.Status
	if got.ObservedGeneration != want.ObservedGeneration || got.Inputs != want.Inputs ||
		got.Outputs != want.Outputs || got.Detached != want.Detached {
		e.fail("SnapshotSchedule %s says generation %d, inputs %v, outputs %v, detached %v; it should say %d, %v, %v, %v", s.Name,
			got.ObservedGeneration, got.Inputs, got.Outputs, got.Detached,
			want.ObservedGeneration, want.Inputs, want.Outputs, want.Detached)
	}
	if (got.LastSnapshotTime == nil) != last.IsZero() || got.LastSnapshotTime != nil && !got.LastSnapshotTime.Time.Equal(last) {
		e.fail("SnapshotSchedule %s says lastSnapshotTime %v; it should say %v", s.Name, got.LastSnapshotTime, last)
	}
	if got.NextSnapshotTime != nil && (s.Spec.Suspend || !got.NextSnapshotTime.After(e.now.Add(-slack))) {
		e.fail("SnapshotSchedule %s says nextSnapshotTime %v, suspended: %t", s.Name, got.NextSnapshotTime, s.Spec.Suspend)
	}
	if meta.IsStatusConditionTrue(got.Conditions, v1alpha1.ConditionRetentionPaused) {
		e.fail("SnapshotSchedule %s says that retention is paused", s.Name)
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
	got := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if got == nil || got.Reason != reason {
		e.fail("SnapshotSchedule %s says Ready %+v; the reason should be %s", s.Name, got, reason)
	}
}

// judgeClaims: no PVC that is being deleted waits for a snapshot of ours to be
// cut.
func (e *end) judgeClaims() {
	for _, claim := range e.claims {
		if claim.DeletionTimestamp == nil {
			continue
		}
		waits := true
		for _, v := range e.snapshots {
			ref := metav1.GetControllerOf(v)
			ours := ref != nil && ref.Kind == "SnapshotSchedule" && v.Labels[v1alpha1.LabelMapKey] == string(claim.UID)
			if *v.Spec.Source.PersistentVolumeClaimName == claim.Name && (!ours || e.held(v)) {
				waits = false // for someone else
			}
		}
		if waits {
			e.fail("PVC %s is still being deleted", claim.Name)
		}
	}
}
