// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// State is what the API server held at one moment.
type State struct {
	Schedules []*v1alpha1.SnapshotSchedule
	Claims    []*corev1.PersistentVolumeClaim
	Snapshots []*snapshotv1.VolumeSnapshot
}

// StateOf returns the state in which these objects exist.
func StateOf(objects []client.Object) *State {
	st := &State{}
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.SnapshotSchedule:
			st.Schedules = append(st.Schedules, o)
		case *corev1.PersistentVolumeClaim:
			st.Claims = append(st.Claims, o)
		case *snapshotv1.VolumeSnapshot:
			st.Snapshots = append(st.Snapshots, o)
		}
	}
	return st
}

// Named returns the object of a name, nil if there is none.
func Named[T client.Object](all []T, name string) (none T) {
	return find(all, func(o T) bool { return o.GetName() == name })
}

// withUID returns the object of a UID, nil if there is none.
func withUID[T client.Object](all []T, uid types.UID) (none T) {
	return find(all, func(o T) bool { return o.GetUID() == uid })
}

func find[T client.Object](all []T, is func(T) bool) (none T) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return none
}

// ownerOf returns the schedule that owns a snapshot, nil if none does.
func (st *State) ownerOf(v *snapshotv1.VolumeSnapshot) *v1alpha1.SnapshotSchedule {
	return find(st.Schedules, func(s *v1alpha1.SnapshotSchedule) bool { return Owned(v, s) })
}

// Owned returns whether a snapshot is a schedule's own: controlled by it or, if it owns by labels, by nothing; and not released by its
// labels.
func Owned(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule) bool {
	return IsTagged(v, s) && (controllerOf(v) == s.UID || OwnsByLabels(s) && metav1.GetControllerOfNoCopy(v) == nil)
}

// IsTagged returns whether a snapshot carries the labels of a schedule. Those of what has a VolumeGroupSnapshot for an owner do not count.
func IsTagged(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule) bool {
	return v.Namespace == s.Namespace && !slices.ContainsFunc(v.OwnerReferences, isGroup) &&
		v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
}

// OwnsByLabels returns whether the snapshots of a schedule carry no reference to it.
func OwnsByLabels(s *v1alpha1.SnapshotSchedule) bool {
	return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// controllerOf returns the UID of the schedule that controls an object, empty if none does.
func controllerOf(o client.Object) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == "SnapshotSchedule" {
		return ref.UID
	}
	return ""
}

func controlOf(o client.Object) string {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return "it has no controller"
	}
	return fmt.Sprintf("%s %s (%s) controls it", ref.Kind, ref.Name, ref.UID)
}

func refers(v *snapshotv1.VolumeSnapshot, schedule types.UID) bool {
	return slices.ContainsFunc(v.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == schedule })
}

// isGroup returns whether a reference is to a VolumeGroupSnapshot of the snapshot controller.
func isGroup(ref metav1.OwnerReference) bool {
	return ref.Kind == "VolumeGroupSnapshot" && strings.HasPrefix(ref.APIVersion, "groupsnapshot.storage.k8s.io/")
}

func sameTags(a, b metav1.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// What the contract says about a single VolumeSnapshot.

// IsReady returns whether a snapshot is ready to use and not being deleted.
func IsReady(s *snapshotv1.VolumeSnapshot) bool { return s.DeletionTimestamp == nil && readyToUse(s) }

func readyToUse(s *snapshotv1.VolumeSnapshot) bool {
	return s.Status != nil && ptr.Deref(s.Status.ReadyToUse, false)
}

func cutTime(s *snapshotv1.VolumeSnapshot) (time.Time, bool) {
	if s.Status == nil || s.Status.CreationTime == nil {
		return time.Time{}, false
	}
	return s.Status.CreationTime.Time, true
}

// isImported returns whether a snapshot was made from a content, so that it holds data from the start.
func isImported(s *snapshotv1.VolumeSnapshot) bool {
	return s.Spec.Source.VolumeSnapshotContentName != nil
}

// isUncut returns whether the driver has not reported that it took the snapshot. One that is ready to use was taken.
func isUncut(s *snapshotv1.VolumeSnapshot) bool {
	_, cut := cutTime(s)
	return !cut && !readyToUse(s) && !isImported(s)
}

// isHeld returns whether the hold annotation holds a snapshot, which keeps only what was cut: a time is when it ends, and every other value holds for ever.
func isHeld(s *snapshotv1.VolumeSnapshot, now time.Time) bool {
	text, held := s.Annotations[v1alpha1.AnnotationHold]
	end, err := time.Parse(time.RFC3339, text)
	return held && !isUncut(s) && (err != nil || now.Before(end))
}

func inError(s *snapshotv1.VolumeSnapshot) bool { return s.Status != nil && s.Status.Error != nil }

// errorAge returns how long ago the error of a snapshot last changed. Without a time it is older than everything.
func errorAge(s *snapshotv1.VolumeSnapshot, now time.Time) time.Duration {
	if s.Status.Error.Time == nil {
		return longest
	}
	return now.Sub(s.Status.Error.Time.Time)
}

// ageBase returns from when age counts: never from before the object's creation, whatever a driver reports.
func ageBase(s *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	base := s.CreationTimestamp.Time
	if cut, ok := cutTime(s); ok && cut.After(base) && !cut.After(now) {
		base = cut
	}
	return base
}

func scheduledAt(s *snapshotv1.VolumeSnapshot) (at time.Time, ok bool) {
	at, err := time.Parse(time.RFC3339, s.Annotations[v1alpha1.AnnotationScheduledAt])
	return at, err == nil
}

// slotOf returns the slot by which a snapshot is sorted.
func slotOf(s *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	if slot, ok := scheduledAt(s); ok && !slot.After(now) {
		return slot
	}
	return s.CreationTimestamp.Time
}

// coveredSlot returns the slot that a snapshot covers. An imported one covers that of its scheduled-at, or none.
func coveredSlot(s *snapshotv1.VolumeSnapshot, now time.Time) (slot time.Time, ok bool) {
	if slot, ok = scheduledAt(s); isImported(s) {
		return slot, ok && !slot.After(now)
	}
	return slotOf(s, now), true
}

// clocksApart is by how much a slot may be later than the creation of its snapshot, because the clocks of API servers and operators
// differ: then it still says to which period the snapshot belongs.
const clocksApart = maxSkew + 2*time.Second

// placeOf returns when a snapshot belongs for calendar tiers: at its scheduled-at, unless that is missing, malformed or later than its
// creation by more than clocks may differ.
func placeOf(s *snapshotv1.VolumeSnapshot) time.Time {
	created := s.CreationTimestamp.Time
	if slot, ok := scheduledAt(s); ok && slot.Sub(created) <= clocksApart {
		return slot
	}
	return created
}

// newestFirst sorts by scheduled-at, then creationTimestamp, then name.
func newestFirst(all []*snapshotv1.VolumeSnapshot, now time.Time) []*snapshotv1.VolumeSnapshot {
	return slices.SortedFunc(slices.Values(all), func(a, b *snapshotv1.VolumeSnapshot) int {
		return cmp.Or(
			slotOf(b, now).Compare(slotOf(a, now)),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time),
			strings.Compare(b.Name, a.Name),
		)
	})
}

func readyOnes(all []*snapshotv1.VolumeSnapshot) []*snapshotv1.VolumeSnapshot {
	return slices.DeleteFunc(slices.Clone(all), func(s *snapshotv1.VolumeSnapshot) bool { return !IsReady(s) })
}

// sourceOf returns the name of the PVC that a snapshot was taken of.
func sourceOf(s *snapshotv1.VolumeSnapshot) string {
	return ptr.Deref(s.Spec.Source.PersistentVolumeClaimName, "a content")
}

// Slot returns the slot of a snapshot, zero if it has none.
func Slot(s *snapshotv1.VolumeSnapshot) time.Time {
	at, _ := scheduledAt(s)
	return at
}

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
	claims []*corev1.PersistentVolumeClaim
}

// series returns the series of a map key under a schedule with this spec.
func (st *State) series(spec *Spec, s *v1alpha1.SnapshotSchedule, mapKey string, now time.Time) *series {
	e := &series{Spec: spec, now: now, mapKey: mapKey, schedule: s, claim: withUID(st.Claims, types.UID(mapKey)), claims: st.Claims}
	for _, v := range st.Snapshots {
		if v.Labels[v1alpha1.LabelMapKey] == mapKey && Owned(v, s) {
			e.snapshots = append(e.snapshots, v)
		}
	}
	e.snapshots = newestFirst(e.snapshots, now)
	return e
}

// allSeries returns all series of a schedule; none if its spec is invalid or it is being deleted.
func (st *State) allSeries(s *v1alpha1.SnapshotSchedule, now time.Time) (all []*series) {
	spec, err := ReadSpec(&s.Spec)
	if err != nil || s.DeletionTimestamp != nil {
		return nil
	}
	keys := map[string]bool{}
	for _, claim := range st.Claims {
		keys[string(claim.UID)] = claim.Namespace == s.Namespace
	}
	for _, v := range st.Snapshots {
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
		if !isUncut(s) && restores(claim, s) {
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
	return !slices.ContainsFunc(newer, func(v *snapshotv1.VolumeSnapshot) bool { return IsReady(v) && !isImported(v) })
}

func (e *series) pastReadyDeadline(s *snapshotv1.VolumeSnapshot) bool {
	return e.now.Sub(s.CreationTimestamp.Time) >= e.readyDeadline
}
