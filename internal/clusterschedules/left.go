// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"context"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// noneLeft returns the engine's Deletable: live lists show that no snapshot and no group
// snapshot of the namespace is the child's.
func noneLeft(owns *mapcontroller.Ownership) func(ctx context.Context, live client.Reader, child client.Object) (bool, error) {
	return func(ctx context.Context, live client.Reader, child client.Object) (bool, error) {
		left := false
		look := func(snapshot client.Object) { left = left || isLeft(owns, child, snapshot) }
		in := client.InNamespace(child.GetNamespace())
		err := mapcontroller.EachMetadata(ctx, live, snapshotv1.SchemeGroupVersion.WithKind("VolumeSnapshot"), look, in)
		if err != nil || left {
			return false, err
		}
		err = mapcontroller.EachMetadata(ctx, live, groupv1.SchemeGroupVersion.WithKind("VolumeGroupSnapshot"), look, in)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // group snapshots are not installed
			err = nil
		}
		return !left && err == nil, err
	}
}

// isLeft returns whether a snapshot is a SnapshotSchedule's: it has its reference, so
// that the garbage collector would delete it, or it has no controller and both labels.
func isLeft(owns *mapcontroller.Ownership, child, snapshot client.Object) bool {
	is := owns.Relation(child, snapshot)
	return is.Owned || is.Orphan || mapcontroller.Refers(snapshot, child)
}
