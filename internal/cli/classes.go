// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// readClasses reads the VolumeSnapshotClasses. A user of a namespace may not be allowed
// to, which says nothing about the operator: then they are unknown.
func (f *Factory) readClasses(ctx context.Context) (snapshots.Classes, error) {
	list := &snapshotv1.VolumeSnapshotClassList{}
	err := f.list(ctx, list)
	if apierrors.IsForbidden(err) {
		if !f.classesDenied { // its message names the user, the verb and the resource
			f.warn("%s: assuming that the operator finds a VolumeSnapshotClass for each PVC", err)
		}
		f.classesDenied = true
		return snapshots.Classes{}, nil
	}
	all, groups := items(list), &groupv1.VolumeGroupSnapshotClassList{}
	unknown := false
	if err == nil {
		switch err = f.list(ctx, groups); {
		case apierrors.IsForbidden(err): // also where they are not installed
			f.groupClassesDenied, unknown, err = err, true, nil
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			err = nil
		default:
			all = append(all, items(groups)...)
		}
	}
	return snapshots.Classes{Known: err == nil, GroupsUnknown: unknown, All: all}, err
}
