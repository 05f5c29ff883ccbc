// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
)

// GetSnapshot reads a VolumeSnapshot or, if there is none of the name, a VolumeGroupSnapshot. A type before the name, as kubectl
// and this plugin print it, says which of them.
func GetSnapshot(ctx context.Context, f *term.Factory, name string) (client.Object, error) {
	kind := ""
	if before, after, found := strings.Cut(name, "/"); found {
		kind, name = before, after
		if !term.SnapshotNames.Is(kind) && !term.GroupSnapshotNames.Is(kind) {
			return nil, fmt.Errorf("%s/%s is neither a VolumeSnapshot nor a VolumeGroupSnapshot", before, after)
		}
	}
	v, group := &snapshotv1.VolumeSnapshot{}, &groupv1.VolumeGroupSnapshot{}
	if term.GroupSnapshotNames.Is(kind) {
		return group, f.Get(ctx, name, group)
	}
	err := f.Get(ctx, name, v)
	if kind == "" && apierrors.IsNotFound(err) && f.Get(ctx, name, group) == nil {
		return group, nil
	}
	if apierrors.IsNotFound(err) && f.Get(ctx, name, &corev1.PersistentVolumeClaim{}) == nil {
		err = fmt.Errorf("%w; it is a PVC: kubectl snapsched list -n %s --pvc %s", err, f.Namespace, name)
	}
	return v, err
}

// ResourceOf returns the resource of a snapshot, and its kind.
func ResourceOf(v client.Object) (resource, kind string) {
	if kind = backup.Noun(v); kind == "VolumeGroupSnapshot" {
		return term.GroupResource, kind
	}
	return term.SnapshotResource, kind
}

// BeingDeleted is the error about a snapshot that is being deleted.
func BeingDeleted(v client.Object) error {
	return fmt.Errorf("%s %s is being deleted", backup.Noun(v), v.GetName())
}

// LookUp reads an object; nil if there is none.
func LookUp[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.Reader, key client.ObjectKey, o P) (P, error) {
	if err := c.Get(ctx, key, o); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return o, nil
}

// ReadIfAllowed reads a cluster-scoped object; nil if it is gone or may not be read.
func ReadIfAllowed[T client.Object](ctx context.Context, c client.Reader, name string, o T) (found T, gone bool, err error) {
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

// Unmanaged says why no schedule decides about a snapshot; empty if that whose name it carries would, if it exists.
func Unmanaged(v client.Object) string {
	switch labels := v.GetLabels(); {
	case labels[v1alpha1.LabelRollback] != "":
		return "it is the safety snapshot of rollback " + labels[v1alpha1.LabelRollback]
	case backup.GroupMember(v):
		group := "VolumeGroupSnapshot " + cmp.Or(backup.LabeledMember(v), backup.GroupOf(v))
		if strings.HasSuffix(group, " ") { // its owner is one, and its status names none
			group = "a VolumeGroupSnapshot"
		}
		return "it is a member of " + group + ", and its data belongs to the group"
	case labels[v1alpha1.LabelMapKey] == "":
		return "it lacks the label " + v1alpha1.LabelMapKey + ": no schedule has taken it, or it was released"
	case labels[v1alpha1.LabelSchedule] == "":
		return "it lacks the label " + v1alpha1.LabelSchedule + ": no schedule has taken it"
	}
	return ""
}

// ReadyStatus is the status of a snapshot that is ready.
func ReadyStatus(cut metav1.Time) *snapshotv1.VolumeSnapshotStatus {
	return &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: &cut}
}
