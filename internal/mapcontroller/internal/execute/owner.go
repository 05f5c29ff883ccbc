// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// adoption is an adoption that was tried.
type adoption struct {
	orphan, owned client.Object
	// made is set if the API server may have made it.
	made bool
	err  error
}

// adoptAll asks the API server before every adoption whether the parent may
// adopt, and once more at the end: a snapshot that was given to a parent that
// was deleted meanwhile would be deleted by the garbage collector.
func (r *run) adoptAll(ctx context.Context) {
	var tried []*adoption
	for _, o := range r.work.Plan.Adopt {
		if !r.backingOff(VerbAdopt, o) {
			tried = append(tried, r.adopt(ctx, o))
		}
	}
	r.checkAdopted(ctx, slices.DeleteFunc(slices.Clone(tried), func(a *adoption) bool { return !a.made }))
	for _, a := range tried {
		r.tried(ctx, VerbAdopt, a.orphan, a.err)
	}
	failing := func(o client.Object) bool { return r.executor.failsRepeatedly(r.work.Request, o) }
	if r.work.Plan.Withheld && slices.ContainsFunc(r.work.Plan.Adopt, failing) {
		// The deletes that waited for the adoptions are planned again, without the
		// orphans that cannot be adopted.
		r.next = r.executor.Clock.Now()
	}
}

// adopt makes the parent the controller of an orphan, if it may adopt.
func (r *run) adopt(ctx context.Context, o client.Object) *adoption {
	a := &adoption{orphan: o}
	if a.err = r.executor.Guard.MayAdopt(ctx, r.work.Request.Parent, r.work.Parent.GetUID()); a.err == nil {
		a.owned = r.withOwner(o)
		a.err = r.executor.patch(ctx, o, a.owned)
		if apierrors.IsConflict(a.err) && r.executor.Kinds.Output(o).Update != nil {
			a.err = r.adoptChanged(ctx, a, a.err)
		}
		a.made = !refused(a.err)
	}
	return a
}

// adoptChanged adopts an orphan that has changed since it was observed, and is an orphan of the key still. The
// adoption is held to what makes it one instead of the version: otherwise whoever changes some annotation again
// and again keeps it from being adopted.
func (r *run) adoptChanged(ctx context.Context, a *adoption, conflict error) error {
	tags, held := r.executor.Kinds.Ownership.Tags, []operation(nil)
	same := func(o client.Object) bool {
		return r.sameOrphan(a.orphan, o) && (held == nil || equality.Semantic.DeepEqual(heldTo(o, tags.MapKey, tags.Parent), held))
	}
	return r.executor.patchChanged(ctx, a.orphan, same, conflict, func(live client.Object) (client.Object, []operation) {
		held, a.owned = heldTo(live, tags.MapKey, tags.Parent), r.withOwner(live)
		return a.owned, append(slices.Clone(held), operation{"add", "/metadata/ownerReferences", a.owned.GetOwnerReferences()})
	})
}

// sameOrphan returns whether an output is still an orphan of the key.
func (r *run) sameOrphan(orphan, live client.Object) bool {
	kinds, parent := r.executor.Kinds, r.work.Parent
	may := kinds.Output(orphan).Adoptable
	return live.GetUID() == orphan.GetUID() && live.GetDeletionTimestamp() == nil && kinds.Ownership.Relation(parent, live).Orphan &&
		kinds.Ownership.MapKey(live) == r.work.Request.MapKey && (may == nil || may(parent, live))
}

// checkAdopted undoes adoptions if the parent may not adopt any more. It does so while the
// manager stops, too: what ends a patch then may come after it was made.
func (r *run) checkAdopted(ctx context.Context, made []*adoption) {
	if len(made) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	// Without an owner they are safe, also if the read failed.
	if err := r.executor.Guard.MayAdopt(reading, r.work.Request.Parent, r.work.Parent.GetUID()); err != nil {
		for _, a := range made {
			a.err = errors.Join(a.err, err, client.IgnoreNotFound(r.giveBack(ctx, a.owned)))
		}
	}
}

// giveBack removes the parent's reference from an output, also from a later version of it
// than the given one: that of an adoption without an answer is not known.
func (r *run) giveBack(ctx context.Context, owned client.Object) error {
	err := r.executor.removeOwner(ctx, owned, r.work.Parent.GetUID())
	if !apierrors.IsConflict(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout+RequestTimeout)
	defer cancel()
	live := plan.EmptyLike(owned)
	if err := r.executor.Guard.Live.Get(ctx, client.ObjectKeyFromObject(owned), live); err != nil {
		return err
	}
	return r.executor.removeOwner(ctx, live, r.work.Parent.GetUID())
}

// withOwner returns a copy of an orphan whose controller is the parent.
func (r *run) withOwner(o client.Object) client.Object {
	owned := o.DeepCopyObject().(client.Object)
	others := slices.DeleteFunc(owned.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return ref.UID == r.work.Parent.GetUID() })
	owned.SetOwnerReferences(append(others, *metav1.NewControllerRef(r.work.Parent, r.executor.Kinds.Ownership.Parent)))
	return owned
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
	return e.Client.Patch(ctx, after, patch)
}
