// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/cli/restore"
)

// plan plans the restore of all snapshots, and returns all errors.
func (r *restoration) plan(ctx context.Context, found []*snapshotv1.VolumeSnapshot) ([]restored, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.List(ctx, claims, client.InNamespace(r.Namespace)); err != nil {
		return nil, err
	}
	taken := claims
	if r.toNamespace != "" {
		taken = &corev1.PersistentVolumeClaimList{}
		if err := r.List(ctx, taken, client.InNamespace(r.toNamespace)); err != nil {
			return nil, err
		}
	}
	cluster := restore.Cluster{Claims: map[string]bool{}, Planned: map[string]bool{}}
	for i := range taken.Items {
		p := &taken.Items[i]
		cluster.Claims[p.Name] = !slices.ContainsFunc(found, func(v *snapshotv1.VolumeSnapshot) bool {
			return r.toNamespace != "" && restore.IsClone(p, restore.CloneName(v.UID, r.toNamespace, p.Name))
		})
	}
	classes := &storagev1.StorageClassList{}
	err := r.List(ctx, classes)
	if cluster.ClassesUnknown = apierrors.IsForbidden(err); err != nil && !cluster.ClassesUnknown {
		return nil, err // users of a namespace may not be allowed to read StorageClasses
	}
	cluster.StorageClasses = classes.Items
	var all []restored
	var errs []error
	for _, v := range found {
		source, err := r.source(ctx, v, claims.Items)
		if err != nil {
			return nil, err
		}
		plan, err := restore.Claim(source, cluster, r.options)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		cluster.Planned[plan.Claim.Name] = true
		all = append(all, restored{snapshot: v, source: source, Plan: plan})
	}
	return all, errors.Join(errs...)
}

// source reads what the restore of a snapshot depends on. Users of a namespace may
// not be allowed to read contents and classes.
func (r *restoration) source(
	ctx context.Context, v *snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim,
) (s restore.Source, err error) {
	s = restore.Source{Snapshot: v, Claim: restore.SourceClaim(v, claims)}
	if v.Status != nil && v.Status.BoundVolumeSnapshotContentName != nil {
		s.Content, s.ContentGone, err = read(ctx, r.Client, *v.Status.BoundVolumeSnapshotContentName, &snapshotv1.VolumeSnapshotContent{})
	}
	if err == nil && v.Spec.VolumeSnapshotClassName != nil {
		s.Class, _, err = read(ctx, r.Client, *v.Spec.VolumeSnapshotClassName, &snapshotv1.VolumeSnapshotClass{})
	}
	return s, err
}

// read reads a cluster-scoped object. It returns nil if that is gone or may not be
// read.
func read[T client.Object](ctx context.Context, c client.Reader, name string, o T) (found T, gone bool, err error) {
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, o); {
	case apierrors.IsNotFound(err):
		return found, true, nil
	case apierrors.IsForbidden(err):
		return found, false, nil
	case err != nil:
		return found, false, err
	}
	return o, false, nil
}
