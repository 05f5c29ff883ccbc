// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"slices"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/recovery"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// Plan plans the restore of all snapshots, and returns all errors. toNamespace is empty for their own namespace.
func (r *Choice) Plan(ctx context.Context, found []*snapshotv1.VolumeSnapshot, toNamespace string) ([]Restored, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := r.Factory.List(ctx, claims, client.InNamespace(r.Factory.Namespace)); err != nil {
		return nil, err
	}
	taken := claims
	if toNamespace != "" {
		taken = &corev1.PersistentVolumeClaimList{}
		if err := r.Factory.List(ctx, taken, client.InNamespace(toNamespace)); err != nil {
			return nil, err
		}
	}
	cluster, err := ReadCluster(ctx, r.Factory)
	if err != nil {
		return nil, err
	}
	cluster.Claims, cluster.Planned = map[string]bool{}, map[string]bool{}
	for i := range taken.Items {
		p := &taken.Items[i]
		cluster.Claims[p.Name] = !slices.ContainsFunc(found, func(v *snapshotv1.VolumeSnapshot) bool {
			return toNamespace != "" && recovery.IsClone(p, recovery.CloneName(v.UID, toNamespace, p.Name))
		})
	}
	var all []Restored
	var errs []error
	for _, v := range found {
		source, err := SourceOf(ctx, r.Factory.Client, v, claims.Items)
		if err != nil {
			return nil, err
		}
		plan, err := recovery.Claim(source, cluster, r.Options)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		cluster.Planned[plan.Claim.Name] = true
		all = append(all, Restored{Snapshot: v, Source: source, Plan: plan})
	}
	return all, errors.Join(errs...)
}

// ReadCluster reads the StorageClasses, which users of a namespace may not be allowed to.
func ReadCluster(ctx context.Context, f *term.Factory) (cluster recovery.Cluster, err error) {
	classes := &storagev1.StorageClassList{}
	err = f.List(ctx, classes)
	if cluster.ClassesUnknown = apierrors.IsForbidden(err); cluster.ClassesUnknown {
		err = nil
	}
	cluster.StorageClasses = classes.Items
	return cluster, err
}

// SourceOf reads what the restore of a snapshot depends on. Users of a namespace may
// not be allowed to read contents and classes.
func SourceOf(
	ctx context.Context, c client.Reader, v *snapshotv1.VolumeSnapshot, claims []corev1.PersistentVolumeClaim,
) (s recovery.Source, err error) {
	s = recovery.Source{Snapshot: v, Claim: recovery.SourceClaim(v, claims)}
	if name := backup.ContentName(v); name != "" {
		s.Content, s.ContentGone, err = view.ReadIfAllowed(ctx, c, name, &snapshotv1.VolumeSnapshotContent{})
	}
	if class := backup.ClassOf(v); err == nil && class != nil {
		s.Class, _, err = view.ReadIfAllowed(ctx, c, *class, &snapshotv1.VolumeSnapshotClass{})
	}
	return s, err
}
