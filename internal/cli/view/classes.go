// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
)

// ReadClasses reads the VolumeSnapshotClasses. A user of a namespace may not be allowed
// to, which says nothing about the operator: then they are unknown.
func ReadClasses(ctx context.Context, f *term.Factory) (snapshots.Classes, error) {
	list := &snapshotv1.VolumeSnapshotClassList{}
	err := f.List(ctx, list)
	if apierrors.IsForbidden(err) {
		if !f.ClassesDenied { // every user of a namespace sees it
			f.Warn("you may not list VolumeSnapshotClasses: assuming that the operator finds one for each PVC")
		}
		f.ClassesDenied = true
		return snapshots.Classes{}, nil
	}
	all, groups := Items(list), &groupv1.VolumeGroupSnapshotClassList{}
	unknown := false
	if err == nil {
		switch err = f.List(ctx, groups); {
		case apierrors.IsForbidden(err): // also where they are not installed
			f.GroupClassesDenied, unknown, err = err, true, nil
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			err = nil
		default:
			all = append(all, Items(groups)...)
		}
	}
	return snapshots.Classes{Known: err == nil, GroupsUnknown: unknown, All: all}, err
}
