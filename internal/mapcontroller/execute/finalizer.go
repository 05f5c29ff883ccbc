// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Finalize keeps the finalizer on a parent exactly while its outputs are to
// outlive it, and releases them before it removes the finalizer from a parent
// that is being deleted. It does nothing else for such a parent.
func (e *Executor) Finalize(ctx context.Context, parent client.Object) error {
	if e.Finalizer == "" {
		return nil
	}
	changed := parent.DeepCopyObject().(client.Object)
	orphan, deleting := e.Orphan(parent), parent.GetDeletionTimestamp() != nil
	update := controllerutil.RemoveFinalizer
	if orphan && !deleting {
		update = controllerutil.AddFinalizer
	}
	if !update(changed, e.Finalizer) {
		return nil
	}
	if orphan && deleting {
		terminating, err := e.namespaceTerminates(ctx, parent.GetNamespace())
		if err == nil && !terminating {
			err = e.releaseAll(ctx, parent)
		}
		if err != nil {
			return fmt.Errorf("release outputs for finalizer: %w", err)
		}
	}
	patch := client.MergeFromWithOptions(parent, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(e.Client.Patch(ctx, changed, patch, client.FieldOwner(e.Name)))
}

// namespaceTerminates returns whether a namespace is gone or being deleted:
// everything in it is deleted, and must not wait.
func (e *Executor) namespaceTerminates(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := e.Guard.Live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	return err != nil || namespace.DeletionTimestamp != nil, client.IgnoreNotFound(err)
}

// releaseRounds bounds the attempts to find no output with the parent's reference:
// something else may put it back.
const releaseRounds = 5

// releaseAll removes a parent's reference from all of its outputs, until a live
// list finds none: a key may have been reconciled meanwhile. A kind that is not
// installed has no objects.
func (e *Executor) releaseAll(ctx context.Context, parent client.Object) error {
	for range releaseRounds {
		var owned []client.Object
		for _, kind := range e.Kinds.Outputs {
			err := guard.EachMetadata(ctx, e.Guard.Live, e.Kinds.Of(kind.Object), func(o client.Object) {
				if plan.Controls(parent, o) {
					owned = append(owned, o)
				}
			}, client.InNamespace(parent.GetNamespace()))
			if err != nil && !e.Missing(ctx, err) {
				return err
			}
		}
		if len(owned) == 0 {
			return nil
		}
		var g errgroup.Group
		g.SetLimit(max(1, e.Workers))
		for _, o := range owned {
			g.Go(func() error { return client.IgnoreNotFound(e.removeOwner(ctx, o, parent.GetUID())) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return errors.New("outputs that were released have the parent's reference again")
}
