// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// State is what a namespace holds, sorted by name.
type State struct {
	// Namespace is nil while it does not exist, Fleet while there is no ClusterSnapshotSchedule of its name.
	Namespace *corev1.Namespace
	Fleet     *v1alpha1.ClusterSnapshotSchedule
	Schedules []*v1alpha1.SnapshotSchedule
	Claims    []*corev1.PersistentVolumeClaim
	Snapshots []*snapshotv1.VolumeSnapshot

	all []client.Object
}

func stateOf(all []client.Object) State {
	slices.SortFunc(all, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	s := State{all: all}
	for _, o := range all {
		switch o := o.(type) {
		case *corev1.Namespace:
			s.Namespace = o
		case *v1alpha1.ClusterSnapshotSchedule:
			s.Fleet = o
		case *v1alpha1.SnapshotSchedule:
			s.Schedules = append(s.Schedules, o)
		case *corev1.PersistentVolumeClaim:
			s.Claims = append(s.Claims, o)
		case *snapshotv1.VolumeSnapshot:
			s.Snapshots = append(s.Snapshots, o)
		}
	}
	return s
}

// Objects returns all of them.
func (s State) Objects() []client.Object { return s.all }

// named returns the object with a name, or nil.
func named[T client.Object](list []T, name string) (none T) {
	for _, o := range list {
		if o.GetName() == name {
			return o
		}
	}
	return none
}

// Schedule returns the schedule with a name, or nil.
func (s State) Schedule(name string) *v1alpha1.SnapshotSchedule { return named(s.Schedules, name) }

// Claim returns the PVC with a name, or nil.
func (s State) Claim(name string) *corev1.PersistentVolumeClaim { return named(s.Claims, name) }

// snapshots returns those that a condition holds for.
func (s State) snapshots(holds func(*snapshotv1.VolumeSnapshot) bool) []*snapshotv1.VolumeSnapshot {
	return slices.DeleteFunc(slices.Clone(s.Snapshots), func(v *snapshotv1.VolumeSnapshot) bool { return !holds(v) })
}

// Snapshot returns the snapshot that was taken before the run under a nickname, or nil if it is gone.
func (s State) Snapshot(name string) *snapshotv1.VolumeSnapshot {
	if found := s.snapshots(func(v *snapshotv1.VolumeSnapshot) bool { return v.Annotations[nickname] == name }); len(found) > 0 {
		return found[0]
	}
	return nil
}

// Of returns the snapshots of a PVC, sorted by name.
func (s State) Of(claim string) []*snapshotv1.VolumeSnapshot {
	return s.snapshots(func(v *snapshotv1.VolumeSnapshot) bool {
		return ptr.Deref(v.Spec.Source.PersistentVolumeClaimName, "") == claim
	})
}

// Owned returns the snapshots that a schedule controls or, under deletionPolicy Orphan, owns by their labels.
func (s State) Owned(by *v1alpha1.SnapshotSchedule) []*snapshotv1.VolumeSnapshot {
	return s.snapshots(func(v *snapshotv1.VolumeSnapshot) bool {
		return by != nil && (metav1.IsControlledBy(v, by) || by.Spec.DeletionPolicy == v1alpha1.DeletionOrphan &&
			metav1.GetControllerOf(v) == nil && v.Labels[v1alpha1.LabelSchedule] == by.Name && v.Labels[v1alpha1.LabelMapKey] != "")
	})
}

// Ready returns whether a snapshot can be restored from.
func Ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.DeletionTimestamp == nil && v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
}

// Reason returns the reason of a schedule's condition, or the empty string without the condition.
func Reason(s *v1alpha1.SnapshotSchedule, condition string) string {
	if s == nil {
		return ""
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return ""
}
