// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Release removes the references to a parent that owns by labels, and keeps the
// finalizer on it while there may be any. Its keys remove them first. Once these have
// settled, nothing writes a reference any more, and a live list shows whether one is
// left; a cache may lag behind our own creates. Under deletion nothing is waited for.
// It also keeps the finalizer while outputs have not settled, and while the parent's own spec and the one that it is
// decided by differ about who owns what: no generation stands for either then.
func (e *Executor) Release(ctx context.Context, of plan.Parent, settled func() bool) (r Released, err error) {
	if e.Finalizer == "" {
		return Released{All: true}, nil
	}
	parent := of.Object
	differs := e.Kinds.Ownership.ByLabels(parent) != e.Kinds.Ownership.ByLabels(of.Read)
	if differs && parent.GetDeletionTimestamp() == nil {
		e.ForgetParent(client.ObjectKeyFromObject(parent))
		return e.setFinalizer(ctx, parent, r, true)
	}
	if r.All = e.isReleased(parent); !r.All && (parent.GetDeletionTimestamp() != nil || settled()) {
		if err := e.releaseAll(ctx, parent); err != nil {
			return Released{}, fmt.Errorf("remove owner references: %w", err)
		}
		e.released.Store(client.ObjectKeyFromObject(parent), versionOf(parent))
		r.All = true
	}
	lingers, again, err := e.lingers(ctx, parent, r.All)
	if r.Again = again; err != nil {
		return r, fmt.Errorf("look for outputs that have not settled: %w", err)
	}
	if parent.GetDeletionTimestamp() != nil && lingers && r.All {
		return r, nil // which has it, or can get none any more
	}
	return e.setFinalizer(ctx, parent, r, !r.All || lingers)
}

// setFinalizer sets or removes the finalizer.
func (e *Executor) setFinalizer(ctx context.Context, parent client.Object, r Released, wanted bool) (Released, error) {
	after := e.withFinalizer(parent, wanted)
	if after == nil {
		return r, nil
	}
	err := e.patch(ctx, parent, after)
	if apierrors.IsConflict(err) {
		err = e.setFinalizerChanged(ctx, parent, wanted, err)
	}
	err = client.IgnoreNotFound(err)
	r.Changed = err == nil
	return r, err
}

// withFinalizer returns a copy of a parent with the finalizer, or without it; nil if it is so already.
func (e *Executor) withFinalizer(parent client.Object, wanted bool) client.Object {
	after, update := parent.DeepCopyObject().(client.Object), controllerutil.RemoveFinalizer
	if wanted {
		update = controllerutil.AddFinalizer
	}
	if !update(after, e.Finalizer) {
		return nil
	}
	return after
}

// setFinalizerChanged sets or removes the finalizer of a parent that has changed since it was observed, but not in what
// the decision depends on: its spec, its deletion, which is a generation of its own, and its owners, which may decide about
// it. The write is held to these instead of the version: otherwise whoever changes some annotation again and again
// keeps the finalizer off, or keeps it on a parent that is being deleted.
func (e *Executor) setFinalizerChanged(ctx context.Context, parent client.Object, wanted bool, conflict error) error {
	same := func(o client.Object) bool {
		return o.GetUID() == parent.GetUID() && o.GetGeneration() == parent.GetGeneration() && o.GetGeneration() > 0 &&
			(o.GetDeletionTimestamp() == nil) == (parent.GetDeletionTimestamp() == nil) &&
			equality.Semantic.DeepEqual(o.GetOwnerReferences(), parent.GetOwnerReferences())
	}
	return e.patchChanged(ctx, parent, same, conflict, func(live client.Object) (client.Object, []operation) {
		after := e.withFinalizer(live, wanted)
		if after == nil {
			return nil, nil
		}
		return after, []operation{
			{"test", "/metadata/uid", live.GetUID()}, {"test", "/metadata/generation", live.GetGeneration()},
			{"test", "/metadata/ownerReferences", ownersOf(live)},
			{"test", "/metadata/finalizers", live.GetFinalizers()}, {"add", "/metadata/finalizers", after.GetFinalizers()},
		}
	})
}

// Released is what became of a parent's references.
type Released struct {
	// All is set if none is left.
	All bool
	// Changed is set if the parent was changed.
	Changed bool
	// Again is how long outputs have to settle before the parent may go.
	Again time.Duration
}

// lingers returns whether a parent keeps the finalizer, although no reference is left: so
// that a later deletion waits for its outputs, or for those that have to settle, and how long.
func (e *Executor) lingers(ctx context.Context, parent client.Object, released bool) (lingers bool, again time.Duration, err error) {
	if e.Lingers != nil && parent.GetDeletionTimestamp() == nil && e.Lingers(parent) && !e.Kinds.Ownership.ByLabels(parent) {
		return true, 0, nil
	}
	if released && controllerutil.ContainsFinalizer(parent, e.Finalizer) {
		again, err = e.unsettledFor(ctx, parent)
	}
	return again > 0, again, err
}

// unsettledFor returns how long it takes until all outputs that the garbage collector would
// delete with a parent have settled. A clock that cannot be trusted is asked again.
func (e *Executor) unsettledFor(ctx context.Context, parent client.Object) (longest time.Duration, err error) {
	for i := range e.Kinds.Outputs {
		kind := &e.Kinds.Outputs[i]
		if kind.Settles == 0 || e.Kinds.Ownership.ByLabels(parent) {
			continue
		}
		if terminating, err := e.namespaceTerminates(ctx, parent); terminating || err != nil {
			return 0, err
		}
		youngest, err := e.youngest(ctx, kind, parent)
		if err != nil {
			return 0, err
		}
		if youngest.IsZero() {
			continue
		}
		now, err := e.Guard.ServerTime(ctx, parent)
		if err != nil {
			return 0, err
		}
		left := youngest.Add(kind.Settles + 2*time.Second).Sub(now) // both are whole seconds
		if now.IsZero() {
			left = kind.Settles
		}
		longest = max(longest, left)
	}
	return longest, nil
}

// youngest returns when the last output of a kind was created that the garbage collector would delete with a parent; zero if there
// is none.
func (e *Executor) youngest(ctx context.Context, kind *plan.Output, parent client.Object) (last time.Time, err error) {
	err = guard.EachMetadata(ctx, e.Guard.Live, e.Kinds.Of(kind.Object), func(o client.Object) {
		if plan.Refers(o, parent) && o.GetDeletionTimestamp() == nil && o.GetCreationTimestamp().After(last) {
			last = o.GetCreationTimestamp().Time
		}
	}, client.InNamespace(parent.GetNamespace()))
	switch {
	case err == nil || e.hasNone(kind, parent, err):
		return last, nil
	case kind.Optional && apierrors.IsForbidden(err) && parent.GetDeletionTimestamp() != nil:
		// They are no younger than what a request of before the deletion can have made.
		return parent.GetDeletionTimestamp().Add(RequestTimeout), nil
	}
	return last, err
}

// hasNone returns whether an error says that a parent has no outputs of an optional kind: it is
// not installed, or may not be listed, as under a role of before the kind was known. A parent
// whose spec makes some may have them all the same.
func (e *Executor) hasNone(kind *plan.Output, parent client.Object, err error) bool {
	absent := meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
	return kind.Optional && (absent || apierrors.IsForbidden(err) && (e.Lingers == nil || !e.Lingers(parent)))
}

// version is one of a parent's spec.
type version struct {
	uid        types.UID
	generation int64
}

func versionOf(parent client.Object) version { return version{parent.GetUID(), parent.GetGeneration()} }

// ForgetParent drops what is known of a parent that is gone.
func (e *Executor) ForgetParent(name types.NamespacedName) { e.released.Delete(name) }

// isReleased returns whether no output is known to carry a reference that it should
// not have. Outputs that were made while the parent owned by labels never carry the
// reference, so neither generation 1 nor a generation after a released one needs a check.
// After a restart, the parent shows it: its finalizer is removed before it has observed a
// generation.
func (e *Executor) isReleased(parent client.Object) bool {
	name, now := client.ObjectKeyFromObject(parent), versionOf(parent)
	if !e.Kinds.Ownership.ByLabels(parent) {
		e.ForgetParent(name)
		return true
	}
	known, _ := e.released.Load(name)
	released := known == now || known == version{now.uid, now.generation - 1}
	if !released && !controllerutil.ContainsFinalizer(parent, e.Finalizer) {
		var fields struct {
			Status struct{ ObservedGeneration int64 }
		}
		released = now.generation == 1 || plan.Fields(parent, &fields) == nil && fields.Status.ObservedGeneration == now.generation
	}
	if released {
		e.released.Store(name, now)
	}
	return released
}

// namespaceTerminates returns whether the namespace of a parent that is being deleted
// is gone or being deleted: everything in it is deleted, and must not wait. With Roles
// only, nobody can know.
func (e *Executor) namespaceTerminates(ctx context.Context, parent client.Object) (bool, error) {
	if parent.GetNamespace() == "" || parent.GetDeletionTimestamp() == nil {
		return false, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := e.Guard.Live.Get(ctx, client.ObjectKey{Name: parent.GetNamespace()}, namespace)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return err != nil || namespace.DeletionTimestamp != nil, client.IgnoreNotFound(err)
}

// releasesAtOnce bounds the writes of one parent's release: where admission hangs, each keeps
// a seat at the API server, which all of the operator's requests share. Most references are
// removed by the keys before.
const releasesAtOnce = 4

// releaseRounds bounds the attempts to find no output with the parent's reference:
// something else may put it back.
const releaseRounds = 5

// releaseAll removes a parent's reference from all of its outputs, until a live
// list finds none: a key may have been reconciled meanwhile. A kind that is not
// installed has no objects.
func (e *Executor) releaseAll(ctx context.Context, parent client.Object) error {
	if terminating, err := e.namespaceTerminates(ctx, parent); terminating || err != nil {
		return err
	}
	for range releaseRounds {
		var owned []client.Object
		for i := range e.Kinds.Outputs {
			kind := &e.Kinds.Outputs[i]
			err := guard.EachMetadata(ctx, e.Guard.Live, e.Kinds.Of(kind.Object), func(o client.Object) {
				_, _, release := e.Kinds.Ownership.Claim(parent, []client.Object{o})
				owned = append(owned, release...)
			}, client.InNamespace(parent.GetNamespace()))
			if err != nil && !e.hasNone(kind, parent, err) && !e.Missing(err) {
				return err
			}
		}
		if len(owned) == 0 {
			return nil
		}
		var g errgroup.Group
		g.SetLimit(releasesAtOnce)
		for _, o := range owned {
			g.Go(func() error { return client.IgnoreNotFound(e.removeOwner(ctx, o, parent.GetUID())) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return errors.New("outputs that were released have the parent's reference again")
}
