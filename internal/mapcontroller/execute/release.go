// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Releaser releases owned outputs that a user removed the map key from. The
// cache holds only outputs that have one: to it, such an output was deleted.
type Releaser struct{ *Executor }

// Release names an output to read live. Without a name it stands for all outputs
// of a kind without a map key, in a namespace or in all of them: those that were
// released while no manager ran.
type Release struct {
	Kind schema.GroupVersionKind
	Name types.NamespacedName
}

// Reconcile releases one output, or all that it finds.
func (r Releaser) Reconcile(ctx context.Context, req Release) (reconcile.Result, error) {
	if req.Name.Name != "" {
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(req.Kind)
		if err := r.Guard.Live.Get(ctx, req.Name, o); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return reconcile.Result{}, r.release(ctx, o)
	}
	untagged, err := labels.NewRequirement(r.Rules.Tags.MapKey, selection.DoesNotExist, nil)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	var errs []error
	errs = append(errs, guard.EachMetadata(ctx, r.Guard.Live, req.Kind, func(o client.Object) error {
		errs = append(errs, r.release(ctx, o))
		return nil
	}, client.InNamespace(req.Name.Namespace), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*untagged)}))
	return reconcile.Result{}, errors.Join(errs...)
}

// release leaves alone what has a map key, what another kind controls, and what
// belongs to a parent that is gone or being deleted: the garbage collector
// decides about that.
func (r Releaser) release(ctx context.Context, o client.Object) error {
	ref := metav1.GetControllerOfNoCopy(o)
	if o.GetLabels()[r.Rules.Tags.MapKey] != "" || !r.Rules.IsParent(ref) {
		return nil
	}
	// Read live: a cache that lags may not have the parent, and nothing would try
	// again.
	name := r.Guard.Observer.ParentName(o, ref.Name)
	if err := r.Guard.MayAdopt(ctx, name, ref.UID); err != nil {
		if errors.Is(err, guard.ErrAdoptionRefused) {
			return nil
		}
		return err
	}
	return client.IgnoreNotFound(r.removeOwner(ctx, o, ref.UID))
}

// MayBeReleased returns whether an object that the cache shows as deleted may in fact
// have lost its map key: it was not being deleted, and a parent controls it.
func (r Releaser) MayBeReleased(o client.Object) bool {
	return o.GetDeletionTimestamp() == nil && r.Rules.IsParent(metav1.GetControllerOfNoCopy(o))
}

// ReleaseOf returns the Release of one object.
func (r Releaser) ReleaseOf(o client.Object) Release {
	return Release{Kind: r.Rules.KindOf(o), Name: client.ObjectKeyFromObject(o)}
}

// releaseRounds bounds the attempts to find no output with the parent's reference:
// something else may put it back.
const releaseRounds = 5

// ReleaseAll removes a parent's reference from all of its outputs, until a live
// list finds none: a key may have been reconciled meanwhile. A kind that is not
// installed has no objects; missing says which are.
func (e *Executor) ReleaseAll(ctx context.Context, parent client.Object, missing func(context.Context, error) bool) error {
	for range releaseRounds {
		var owned []client.Object
		for _, out := range e.Rules.Outputs {
			err := guard.EachMetadata(ctx, e.Guard.Live, e.Rules.KindOf(out.Object), func(o client.Object) error {
				if plan.Controls(parent, o) {
					owned = append(owned, o)
				}
				return nil
			}, client.InNamespace(parent.GetNamespace()))
			if err != nil && !missing(ctx, err) {
				return err
			}
		}
		if len(owned) == 0 {
			return nil
		}
		if err := e.releaseEach(ctx, owned, parent.GetUID()); err != nil {
			return err
		}
	}
	return errors.New("outputs that were released have the parent's reference again")
}

func (e *Executor) releaseEach(ctx context.Context, owned []client.Object, owner types.UID) error {
	var g errgroup.Group
	g.SetLimit(max(1, e.Workers))
	for _, o := range owned {
		g.Go(func() error { return client.IgnoreNotFound(e.removeOwner(ctx, o, owner)) })
	}
	return g.Wait()
}
