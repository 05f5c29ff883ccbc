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

// State is what a namespace holds, by name.
type State struct {
	Schedules []*v1alpha1.SnapshotSchedule
	Claims    []*corev1.PersistentVolumeClaim
	Snapshots []*snapshotv1.VolumeSnapshot
}

func (s *State) add(o client.Object) {
	switch o := o.(type) {
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

// Objects are all of them.
func (s State) Objects() []client.Object {
	var all []client.Object
	for _, o := range s.Schedules {
		all = append(all, o)
	}
	for _, o := range s.Claims {
		all = append(all, o)
	}
	for _, o := range s.Snapshots {
		all = append(all, o)
	}
	return all
}

// Schedule is the schedule of a name; nil if there is none.
func (s State) Schedule(name string) *v1alpha1.SnapshotSchedule {
	for _, o := range s.Schedules {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Claim is the PVC of a name; nil if there is none.
func (s State) Claim(name string) *corev1.PersistentVolumeClaim {
	for _, o := range s.Claims {
		if o.Name == name {
			return o
		}
	}
	return nil
}

// Snapshot is the VolumeSnapshot that was made before the run under a nickname; nil
// if it is no longer there.
func (s State) Snapshot(name string) *snapshotv1.VolumeSnapshot {
	for _, o := range s.Snapshots {
		if o.Annotations[nickname] == name {
			return o
		}
	}
	return nil
}

// Of are the snapshots of a PVC, by name.
func (s State) Of(claim string) []*snapshotv1.VolumeSnapshot {
	var found []*snapshotv1.VolumeSnapshot
	for _, o := range s.Snapshots {
		if ptr.Deref(o.Spec.Source.PersistentVolumeClaimName, "") == claim {
			found = append(found, o)
		}
	}
	return found
}

// Owned are the snapshots that a schedule's UID controls.
func (s State) Owned(by *v1alpha1.SnapshotSchedule) []*snapshotv1.VolumeSnapshot {
	var found []*snapshotv1.VolumeSnapshot
	for _, o := range s.Snapshots {
		if by != nil && metav1.IsControlledBy(o, by) {
			found = append(found, o)
		}
	}
	return found
}

// Ready tells whether a snapshot can be restored from.
func Ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.DeletionTimestamp == nil && v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
}

// Reason is the reason of a schedule's condition; empty while it has none.
func Reason(s *v1alpha1.SnapshotSchedule, condition string) string {
	if s == nil {
		return ""
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, condition); c != nil {
		return c.Reason
	}
	return ""
}
