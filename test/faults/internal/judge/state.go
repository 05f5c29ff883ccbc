// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// state is what the API server held at one moment.
type state struct {
	schedules  []*v1alpha1.SnapshotSchedule
	claims     map[types.UID]*corev1.PersistentVolumeClaim
	snapshots  []*snapshotv1.VolumeSnapshot
	fleets     []*v1alpha1.ClusterSnapshotSchedule
	namespaces []*corev1.Namespace
}

// stateOf returns the state in which these objects exist.
func stateOf(objects []client.Object) *state {
	st := &state{claims: map[types.UID]*corev1.PersistentVolumeClaim{}}
	for _, o := range objects {
		switch o := o.(type) {
		case *v1alpha1.SnapshotSchedule:
			st.schedules = append(st.schedules, o)
		case *corev1.PersistentVolumeClaim:
			st.claims[o.UID] = o
		case *snapshotv1.VolumeSnapshot:
			st.snapshots = append(st.snapshots, o)
		case *v1alpha1.ClusterSnapshotSchedule:
			st.fleets = append(st.fleets, o)
		case *corev1.Namespace:
			st.namespaces = append(st.namespaces, o)
		}
	}
	return st
}

// named returns the object of a name, nil if there is none.
func named[T client.Object](all []T, name string) (none T) {
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

// claimOf returns the PVC of a snapshot, nil if it is gone.
func (st *state) claimOf(s *snapshotv1.VolumeSnapshot) *corev1.PersistentVolumeClaim {
	return st.claims[types.UID(s.Labels[v1alpha1.LabelMapKey])]
}

// ownerOf returns the schedule that owns a snapshot, nil if none does.
func (st *state) ownerOf(v *snapshotv1.VolumeSnapshot) *v1alpha1.SnapshotSchedule {
	return find(st.schedules, func(s *v1alpha1.SnapshotSchedule) bool { return Owned(v, s) })
}

// hasSnapshots returns whether a snapshot refers to a schedule, or is its own by its labels.
func (st *state) hasSnapshots(s *v1alpha1.SnapshotSchedule) bool {
	return slices.ContainsFunc(st.snapshots, func(v *snapshotv1.VolumeSnapshot) bool {
		return refers(v, s.UID) || IsTagged(v, s) && metav1.GetControllerOfNoCopy(v) == nil
	})
}

// Owned returns whether a snapshot is a schedule's own: controlled by it or, if it owns by labels, by nothing; and not released by its
// labels.
func Owned(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule) bool {
	return IsTagged(v, s) && (controllerOf(v) == s.UID || OwnsByLabels(s) && metav1.GetControllerOfNoCopy(v) == nil)
}

// IsTagged returns whether a snapshot carries the labels of a schedule.
func IsTagged(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule) bool {
	return v.Namespace == s.Namespace && v.Labels[v1alpha1.LabelMapKey] != "" && v.Labels[v1alpha1.LabelSchedule] == s.Name
}

// OwnsByLabels returns whether the snapshots of a schedule carry no reference to it.
func OwnsByLabels(s *v1alpha1.SnapshotSchedule) bool {
	return s.Spec.DeletionPolicy == v1alpha1.DeletionOrphan
}

// controllerOf returns the UID of the schedule that controls an object, empty if none does.
func controllerOf(o client.Object) types.UID { return controllerOfKind(o, "SnapshotSchedule") }

// fleetOf returns the UID of the ClusterSnapshotSchedule that controls a schedule, empty if none does.
func fleetOf(s *v1alpha1.SnapshotSchedule) types.UID {
	return controllerOfKind(s, "ClusterSnapshotSchedule")
}

func controllerOfKind(o client.Object, kind string) types.UID {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil && ref.Kind == kind {
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
