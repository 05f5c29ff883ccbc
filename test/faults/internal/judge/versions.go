// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// versions are all that schedules, ClusterSnapshotSchedules and namespaces have been so far, apart from their status.
type versions struct {
	schedules  []*v1alpha1.SnapshotSchedule
	fleets     []*v1alpha1.ClusterSnapshotSchedule
	namespaces []*corev1.Namespace
}

func (v *versions) add(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.SnapshotSchedule:
		v.schedules = withVersion(v.schedules, o)
	case *v1alpha1.ClusterSnapshotSchedule:
		v.fleets = withVersion(v.fleets, o)
	case *corev1.Namespace:
		v.namespaces = withVersion(v.namespaces, o)
	}
}

// withVersion adds an object to others, unless one of them has its spec and its metadata.
func withVersion[T client.Object](all []T, o T) []T {
	created := o.GetCreationTimestamp() // which workloads change
	known := slices.ContainsFunc(all, func(have T) bool {
		return have.GetUID() == o.GetUID() && have.GetGeneration() == o.GetGeneration() && created.Equal(ptr.To(have.GetCreationTimestamp())) &&
			have.GetDeletionTimestamp().Equal(o.GetDeletionTimestamp()) && sameTags(have, o)
	})
	if known {
		return all
	}
	return append(all, o)
}

// ever returns whether something holds for some versions of a child's ClusterSnapshotSchedule and its namespace.
func (v *versions) ever(child *v1alpha1.SnapshotSchedule, holds func(*v1alpha1.ClusterSnapshotSchedule, *corev1.Namespace) bool) bool {
	return slices.ContainsFunc(v.fleets, func(f *v1alpha1.ClusterSnapshotSchedule) bool {
		return f.UID == fleetOf(child) && slices.ContainsFunc(v.namespaces, func(n *corev1.Namespace) bool {
			return n.Name == child.Namespace && holds(f, n)
		})
	})
}

// labeling returns the last schedule whose labels a snapshot carries that nothing controls.
func (v *versions) labeling(s *snapshotv1.VolumeSnapshot) (last *v1alpha1.SnapshotSchedule) {
	for _, schedule := range v.schedules {
		if IsTagged(s, schedule) && metav1.GetControllerOfNoCopy(s) == nil {
			last = schedule
		}
	}
	return last
}
