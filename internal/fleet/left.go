// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
)

// noneLeft is the engine's Deletable: a live list shows that no snapshot of the
// namespace is the child's.
func noneLeft(ctx context.Context, live client.Reader, child client.Object) (bool, error) {
	left := false
	err := guard.EachMetadata(ctx, live, snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), func(snapshot client.Object) {
		left = left || isLeft(child, snapshot)
	}, client.InNamespace(child.GetNamespace()))
	return !left, err
}

// isLeft returns whether a snapshot is a SnapshotSchedule's: it has its reference, so
// that the garbage collector would delete it, or it has no controller and both labels.
func isLeft(child, snapshot client.Object) bool {
	labels := snapshot.GetLabels()
	return slices.ContainsFunc(snapshot.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == child.GetUID() }) ||
		metav1.GetControllerOfNoCopy(snapshot) == nil &&
			labels[v1alpha1.LabelSchedule] == child.GetName() && labels[v1alpha1.LabelMapKey] != ""
}
