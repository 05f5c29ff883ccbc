// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// finalize keeps the finalizer on a parent exactly while its outputs are to
// outlive it, and releases them before it goes. That is the one action taken
// for a parent that is being deleted.
func (s *statusWriter[P, S]) finalize(ctx context.Context, parent P) error {
	if s.Finalizer == "" {
		return nil
	}
	orphan := s.Orphan(parent)
	switch has := controllerutil.ContainsFinalizer(parent, s.Finalizer); {
	case parent.GetDeletionTimestamp() == nil:
		if has == orphan {
			return nil
		}
	case !has:
		return nil
	case orphan:
		if err := s.releaseBeforeEnd(ctx, parent); err != nil {
			return err
		}
		orphan = false
	default:
		orphan = false
	}
	changed := parent.DeepCopyObject().(P)
	if orphan {
		controllerutil.AddFinalizer(changed, s.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(changed, s.Finalizer)
	}
	patch := client.MergeFromWithOptions(parent, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(s.client.Patch(ctx, changed, patch, client.FieldOwner(s.Name)))
}

// releaseBeforeEnd does nothing in a namespace that is being deleted: all of it
// goes, and must not wait.
func (s *statusWriter[P, S]) releaseBeforeEnd(ctx context.Context, parent P) error {
	if parent.GetNamespace() != "" {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := s.live.Get(ctx, client.ObjectKey{Name: parent.GetNamespace()}, namespace)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if namespace.DeletionTimestamp != nil {
			return nil
		}
	}
	return s.releaseAll(ctx, parent)
}
