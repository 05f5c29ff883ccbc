// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// adoptAll asks the API server before every adoption whether the parent may
// adopt, and once more at the end: a snapshot that was given to a parent that
// was deleted meanwhile would be deleted by the garbage collector.
func (r *run) adoptAll(ctx context.Context) {
	name, uid := r.req.Parent, r.parent.GetUID()
	var adopted []client.Object
	for _, o := range r.plan.Adopt {
		r.object(ctx, VerbAdopt, o, func() error {
			if err := r.Guard.MayAdopt(ctx, name, uid); err != nil {
				return err
			}
			owned, err := r.addOwner(ctx, o)
			if err == nil {
				adopted = append(adopted, owned)
			}
			return err
		})
	}
	if len(adopted) > 0 {
		// Without an owner they are safe, also if the read failed.
		if err := r.Guard.MayAdopt(ctx, name, uid); err != nil {
			for _, o := range adopted {
				r.object(ctx, VerbAdopt, o, func() error { return errors.Join(err, client.IgnoreNotFound(r.removeOwner(ctx, o, uid))) })
			}
		}
	}
	if r.plan.Withheld && slices.ContainsFunc(r.plan.Adopt, func(o client.Object) bool { return r.Attempts.refused(r.req, o.GetUID()) }) {
		// The deletes that waited for the adoptions are planned again, without the
		// orphans that cannot be adopted.
		r.next = r.Clock.Now()
	}
}

// addOwner makes the parent the controller of an orphan.
func (r *run) addOwner(ctx context.Context, o client.Object) (client.Object, error) {
	owned := o.DeepCopyObject().(client.Object)
	others := slices.DeleteFunc(owned.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == r.parent.GetUID() })
	owned.SetOwnerReferences(append(others, *metav1.NewControllerRef(r.parent, r.Kinds.Parent)))
	return owned, r.patch(ctx, o, owned)
}

// removeOwner removes an owner's reference from an output, held to the observed
// version. Everything else of the output stays.
func (e *Executor) removeOwner(ctx context.Context, o client.Object, owner types.UID) error {
	released := o.DeepCopyObject().(client.Object)
	released.SetOwnerReferences(slices.DeleteFunc(released.GetOwnerReferences(), func(ref metav1.OwnerReference) bool {
		return ref.UID == owner
	}))
	return e.patch(ctx, o, released)
}

// patch writes a change of an output or a parent, held to the observed version.
func (e *Executor) patch(ctx context.Context, before, after client.Object) error {
	return e.patchWith(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

func (e *Executor) patchWith(ctx context.Context, after client.Object, patch client.Patch) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	return e.Client.Patch(ctx, after, patch, client.FieldOwner(e.Name))
}
