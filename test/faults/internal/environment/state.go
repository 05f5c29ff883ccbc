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
}

func (s *State) add(o client.Object) {
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

func (s *State) sort() {
	slices.SortFunc(s.Schedules, byName)
	slices.SortFunc(s.Claims, byName)
	slices.SortFunc(s.Snapshots, byName)
}

func byName[T client.Object](a, b T) int { return strings.Compare(a.GetName(), b.GetName()) }

// Objects returns all of them.
func (s State) Objects() []client.Object {
	all := slices.Concat(objects(s.Schedules), objects(s.Claims), objects(s.Snapshots))
	if s.Namespace != nil {
		all = append(all, s.Namespace)
	}
	if s.Fleet != nil {
		all = append(all, s.Fleet)
	}
	return all
}

func objects[T client.Object](list []T) []client.Object {
	var all []client.Object
	for _, o := range list {
		all = append(all, o)
	}
	return all
}

// find returns the first object that a condition holds for, or nil.
func find[T any](list []*T, holds func(*T) bool) *T {
	if i := slices.IndexFunc(list, holds); i >= 0 {
		return list[i]
	}
	return nil
}

// filter returns the objects that a condition holds for.
func filter[T any](list []*T, holds func(*T) bool) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(o *T) bool { return !holds(o) })
}

// Schedule returns the schedule with a name, or nil.
func (s State) Schedule(name string) *v1alpha1.SnapshotSchedule {
	return find(s.Schedules, func(o *v1alpha1.SnapshotSchedule) bool { return o.Name == name })
}

// Child returns the schedule of the ClusterSnapshotSchedule, or nil. It has the name of the namespace, as each run's
// ClusterSnapshotSchedule has.
func (s State) Child() *v1alpha1.SnapshotSchedule {
	return find(s.Schedules, func(o *v1alpha1.SnapshotSchedule) bool { return o.Name == o.Namespace })
}

// Claim returns the PVC with a name, or nil.
func (s State) Claim(name string) *corev1.PersistentVolumeClaim {
	return find(s.Claims, func(o *corev1.PersistentVolumeClaim) bool { return o.Name == name })
}

// Snapshot returns the snapshot that was taken before the run under a nickname, or nil if it is
// gone.
func (s State) Snapshot(name string) *snapshotv1.VolumeSnapshot {
	return find(s.Snapshots, func(o *snapshotv1.VolumeSnapshot) bool { return o.Annotations[nickname] == name })
}

// Of returns the snapshots of a PVC, sorted by name.
func (s State) Of(claim string) []*snapshotv1.VolumeSnapshot {
	return filter(s.Snapshots, func(o *snapshotv1.VolumeSnapshot) bool {
		return ptr.Deref(o.Spec.Source.PersistentVolumeClaimName, "") == claim
	})
}

// Owned returns the snapshots that a schedule controls or, under deletionPolicy Orphan, owns by their labels.
func (s State) Owned(by *v1alpha1.SnapshotSchedule) []*snapshotv1.VolumeSnapshot {
	return filter(s.Snapshots, func(o *snapshotv1.VolumeSnapshot) bool {
		return by != nil && (metav1.IsControlledBy(o, by) || by.Spec.DeletionPolicy == v1alpha1.DeletionOrphan &&
			metav1.GetControllerOf(o) == nil && o.Labels[v1alpha1.LabelSchedule] == by.Name && o.Labels[v1alpha1.LabelMapKey] != "")
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
