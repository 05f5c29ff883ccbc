// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Finalizer releases a parent's outputs before the parent goes.
type Finalizer struct {
	*Executor
	// Name is the finalizer's.
	Name string
	// Orphan returns whether a parent's outputs are to outlive it.
	Orphan func(parent client.Object) bool
	// Missing returns whether an error means that a kind is not installed.
	Missing func(context.Context, error) bool
}

// Reconcile keeps the finalizer on a parent exactly while its outputs are to
// outlive it, and releases them before it removes the finalizer from a parent
// that is being deleted. It does nothing else for such a parent.
func (f *Finalizer) Reconcile(ctx context.Context, parent client.Object) error {
	orphan, has := f.Orphan(parent), controllerutil.ContainsFinalizer(parent, f.Name)
	if parent.GetDeletionTimestamp() == nil {
		if has == orphan {
			return nil
		}
	} else {
		if !has {
			return nil
		}
		if orphan {
			if err := f.releaseBeforeEnd(ctx, parent); err != nil {
				return err
			}
			orphan = false
		}
	}
	changed := parent.DeepCopyObject().(client.Object)
	if orphan {
		controllerutil.AddFinalizer(changed, f.Name)
	} else {
		controllerutil.RemoveFinalizer(changed, f.Name)
	}
	patch := client.MergeFromWithOptions(parent, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(f.Client.Patch(ctx, changed, patch, client.FieldOwner(f.Executor.Name)))
}

// releaseBeforeEnd does nothing in a namespace that is being deleted: everything
// in it goes, and must not wait.
func (f *Finalizer) releaseBeforeEnd(ctx context.Context, parent client.Object) error {
	if parent.GetNamespace() != "" {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := f.Guard.Live.Get(ctx, client.ObjectKey{Name: parent.GetNamespace()}, namespace)
		if err != nil {
			return client.IgnoreNotFound(err)
		}
		if namespace.DeletionTimestamp != nil {
			return nil
		}
	}
	return f.ReleaseAll(ctx, parent, f.Missing)
}
