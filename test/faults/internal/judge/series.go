// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"slices"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// series is what retention depends on: the snapshots of a PVC under a schedule with a valid spec, at a time.
type series struct {
	*Spec
	now      time.Time
	mapKey   string
	schedule *v1alpha1.SnapshotSchedule
	// claim is nil if it is gone.
	claim *corev1.PersistentVolumeClaim
	// snapshots are in the order of their slots, newest first. They must not be changed.
	snapshots []*snapshotv1.VolumeSnapshot
	// claims are all PVCs: those that are being restored hold snapshots.
	claims map[types.UID]*corev1.PersistentVolumeClaim
}

// series returns the series of a map key under a schedule with this spec.
func (st *state) series(spec *Spec, s *v1alpha1.SnapshotSchedule, mapKey string, now time.Time) *series {
	e := &series{Spec: spec, now: now, mapKey: mapKey, schedule: s, claim: st.claims[types.UID(mapKey)], claims: st.claims}
	for _, v := range st.snapshots {
		if v.Labels[v1alpha1.LabelMapKey] == mapKey && Owned(v, s) {
			e.snapshots = append(e.snapshots, v)
		}
	}
	e.snapshots = newestFirst(e.snapshots, now)
	return e
}

// allSeries returns all series of a schedule; none if its spec is invalid or it is being deleted.
func (st *state) allSeries(s *v1alpha1.SnapshotSchedule, now time.Time) (all []*series) {
	spec, err := ReadSpec(&s.Spec)
	if err != nil || s.DeletionTimestamp != nil {
		return nil
	}
	keys := map[string]bool{}
	for uid, claim := range st.claims {
		keys[string(uid)] = claim.Namespace == s.Namespace
	}
	for _, v := range st.snapshots {
		if Owned(v, s) {
			keys[v.Labels[v1alpha1.LabelMapKey]] = true
		}
	}
	for key, is := range keys {
		if is {
			all = append(all, st.series(spec, s, key, now))
		}
	}
	return all
}

// selected returns whether the PVC exists, matches the selector, and is not controlled by the schedule.
func (e *series) selected() bool {
	if e.claim == nil {
		return false
	}
	_, excluded := e.claim.Annotations[v1alpha1.AnnotationExclude]
	class := v1alpha1.StorageClassName(ptr.Deref(e.claim.Spec.StorageClassName, ""))
	return !excluded && e.selector.Matches(labels.Set(e.claim.Labels)) && controllerOf(e.claim) != e.schedule.UID &&
		(len(e.storageClasses) == 0 || slices.Contains(e.storageClasses, class))
}

// takes returns whether the PVC gets snapshots: it is selected and bound.
func (e *series) takes() bool {
	return e.selected() && e.claim.DeletionTimestamp == nil && e.claim.Status.Phase == corev1.ClaimBound
}

// newest returns the newest snapshot that covers a slot and is not being deleted.
func (e *series) newest() *snapshotv1.VolumeSnapshot {
	return find(e.snapshots, func(s *snapshotv1.VolumeSnapshot) bool {
		_, covers := coveredSlot(s, e.now)
		return covers && s.DeletionTimestamp == nil
	})
}

// held returns why rule 1 holds a snapshot, except for being in progress; empty if it does not.
func (e *series) held(s *snapshotv1.VolumeSnapshot) string {
	if isHeld(s, e.now) {
		return "it is held by annotation"
	}
	for _, claim := range e.claims {
		if restores(claim, s) {
			return "PVC " + claim.Name + " is being restored from it"
		}
	}
	return ""
}

func restores(claim *corev1.PersistentVolumeClaim, s *snapshotv1.VolumeSnapshot) bool {
	if claim.Status.Phase != corev1.ClaimPending && claim.Status.Phase != "" {
		return false
	}
	isIt := func(group *string, kind, name, namespace string) bool {
		return ptr.Deref(group, "") == snapshotv1.GroupName && kind == "VolumeSnapshot" && name == s.Name && namespace == s.Namespace
	}
	if source := claim.Spec.DataSource; source != nil && isIt(source.APIGroup, source.Kind, source.Name, claim.Namespace) {
		return true
	}
	ref := claim.Spec.DataSourceRef
	return ref != nil && isIt(ref.APIGroup, ref.Kind, ref.Name, cmp.Or(ptr.Deref(ref.Namespace, ""), claim.Namespace))
}

// inProgress: not ready, and either uncut and within readyDeadline, or cut and without error. One that lost its readiness looks like
// the latter, but a newer one was taken that is ready: none is taken while the newest is in progress.
func (e *series) inProgress(s *snapshotv1.VolumeSnapshot) bool {
	switch {
	case readyToUse(s), isImported(s):
		return false
	case isUncut(s):
		return !e.pastReadyDeadline(s)
	case inError(s):
		return false
	}
	newer := e.snapshots[:slices.Index(e.snapshots, s)]
	return !slices.ContainsFunc(newer, func(v *snapshotv1.VolumeSnapshot) bool { return isReady(v) && !isImported(v) })
}

func (e *series) pastReadyDeadline(s *snapshotv1.VolumeSnapshot) bool {
	return e.now.Sub(s.CreationTimestamp.Time) >= e.readyDeadline
}
