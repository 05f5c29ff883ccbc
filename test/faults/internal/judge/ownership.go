// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func sameTags(a, b client.Object) bool {
	same := func(a, b map[string]string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }
	return same(a.GetLabels(), b.GetLabels()) && same(a.GetAnnotations(), b.GetAnnotations())
}

func controlOf(o client.Object) string {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil {
		return "it has no controller"
	}
	return fmt.Sprintf("%s %s (%s) controls it", ref.Kind, ref.Name, ref.UID)
}

// isGroup returns whether a reference is to a VolumeGroupSnapshot of the snapshot controller.
func isGroup(ref metav1.OwnerReference) bool {
	return ref.Kind == "VolumeGroupSnapshot" && strings.HasPrefix(ref.APIVersion, "groupsnapshot.storage.k8s.io/")
}

// promised returns whether the status of a schedule reports its generation. A deletion increases it.
func promised(s *v1alpha1.SnapshotSchedule) bool {
	observed := s.Status.ObservedGeneration
	return observed == s.Generation || s.DeletionTimestamp != nil && observed == s.Generation-1
}

func hasFinalizer(s *v1alpha1.SnapshotSchedule) bool {
	return s != nil && slices.Contains(s.Finalizers, v1alpha1.FinalizerRelease)
}

func refers(v *snapshotv1.VolumeSnapshot, schedule types.UID) bool {
	return slices.ContainsFunc(v.OwnerReferences, func(ref metav1.OwnerReference) bool { return ref.UID == schedule })
}

func isLabeled(v *snapshotv1.VolumeSnapshot, s *v1alpha1.SnapshotSchedule) bool {
	return isTagged(v, s) && metav1.GetControllerOfNoCopy(v) == nil
}

// hasSnapshots returns whether a snapshot refers to a schedule, or is its own by its labels.
func (st *state) hasSnapshots(s *v1alpha1.SnapshotSchedule) bool {
	for _, v := range st.snapshots {
		if refers(v, s.UID) || isLabeled(v, s) {
			return true
		}
	}
	return false
}
