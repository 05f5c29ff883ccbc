// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"k8s.io/client-go/util/workqueue"
)

// releasePage is how many objects one page of a live list holds.
const releasePage = 500

// disown takes the owner's reference off an output, held to the version that
// was looked at. All else of the output stays.
func (c *controller[P, S]) disown(ctx context.Context, o client.Object, owner types.UID) error {
	changed := o.DeepCopyObject().(client.Object)
	var others []metav1.OwnerReference
	for _, ref := range o.GetOwnerReferences() {
		if ref.UID != owner {
			others = append(others, ref)
		}
	}
	changed.SetOwnerReferences(others)
	return c.patchOwners(ctx, o, changed)
}

func (c *controller[P, S]) patchOwners(ctx context.Context, o, changed client.Object) error {
	patch := client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{})
	return c.client.Patch(ctx, changed, patch, client.FieldOwner(c.Name))
}

// eachLive calls do for the metadata of every live object of a kind, page by
// page.
func (c *controller[P, S]) eachLive(
	ctx context.Context, kind client.Object, do func(*metav1.PartialObjectMetadata), opts ...client.ListOption,
) error {
	gvk, err := apiutil.GVKForObject(kind, c.scheme)
	if err != nil {
		return err
	}
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	for {
		err := c.live.List(ctx, page, append(opts, client.Limit(releasePage), client.Continue(page.Continue))...)
		if err != nil {
			return err
		}
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(gvk)
			do(page.Items[i].DeepCopy())
		}
		if page.Continue == "" {
			return nil
		}
	}
}

// releaseAll releases every output of a parent that is about to go, until a live
// list finds none: a key may have been at work meanwhile.
func (c *controller[P, S]) releaseAll(ctx context.Context, parent P) error {
	for {
		var owned []client.Object
		for _, out := range c.Outputs {
			err := c.eachLive(ctx, out.Object, func(o *metav1.PartialObjectMetadata) {
				if controlledBy(o, parent) {
					owned = append(owned, o)
				}
			}, client.InNamespace(parent.GetNamespace()))
			if err != nil && !c.notServed(ctx, err) {
				return err
			}
		}
		if len(owned) == 0 {
			return nil
		}
		var g errgroup.Group
		g.SetLimit(max(1, c.Workers))
		for _, o := range owned {
			g.Go(func() error { return client.IgnoreNotFound(c.disown(ctx, o, parent.GetUID())) })
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
}

// notServed tells whether the list of a kind failed because there is no such
// kind, and so no object of it. A 404 alone is not enough: what is not released
// now goes to the garbage collector.
func (c *controller[P, S]) notServed(ctx context.Context, err error) bool {
	if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		return false
	}
	missing, err := c.kinds.look(ctx)
	return err == nil && len(missing) > 0
}

// releaser releases the owned outputs that a user took the map key off. The
// cache sees only outputs that have one: to it, such an output was deleted.
type releaser[P client.Object, S any] struct {
	*controller[P, S]
	parentKind schema.GroupVersionKind
}

// Release names an output to look at live; without a name, all outputs of the
// kind and namespace (or of all namespaces) that have no map key: what was
// released while no one looked.
type Release struct {
	kind int
	name types.NamespacedName
}

// start is a source: it asks for one look at everything.
//
//nolint:unparam // a source may fail, this one can't
func (r *releaser[P, S]) start(_ context.Context, q workqueue.TypedRateLimitingInterface[Release]) error {
	namespaces := r.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for kind := range r.Outputs {
		for _, namespace := range namespaces {
			q.Add(Release{kind: kind, name: types.NamespacedName{Namespace: namespace}})
		}
	}
	return nil
}

// deletedRemembered is how many of our own deletes are remembered; one that is
// not costs a read.
const deletedRemembered = 10_000

// vanished asks for a look at an output that went without being deleted first.
// A deletion without finalizers looks the same; of those only our own are known
// to be one.
func (r *releaser[P, S]) vanished(kind int) handler.TypedEventHandler[client.Object, Release] {
	return handler.TypedFuncs[client.Object, Release]{
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q workqueue.TypedRateLimitingInterface[Release]) {
			if _, ours := r.deleted.Get(e.Object.GetUID()); ours {
				r.deleted.Remove(e.Object.GetUID())
				return
			}
			if e.Object.GetDeletionTimestamp() == nil && isOwnerKind(metav1.GetControllerOfNoCopy(e.Object), r.parentKind) {
				q.Add(Release{kind: kind, name: client.ObjectKeyFromObject(e.Object)})
			}
		},
	}
}

// Reconcile releases one output, or looks for all that should be.
func (r *releaser[P, S]) Reconcile(ctx context.Context, req Release) (reconcile.Result, error) {
	kind := r.Outputs[req.kind].Object
	if req.name.Name != "" {
		gvk, err := apiutil.GVKForObject(kind, r.scheme)
		if err != nil {
			return reconcile.Result{}, err
		}
		o := &metav1.PartialObjectMetadata{}
		o.SetGroupVersionKind(gvk)
		if err := r.live.Get(ctx, req.name, o); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return reconcile.Result{}, r.release(ctx, o)
	}
	untagged, err := labels.NewRequirement(r.Tags.MapKey, selection.DoesNotExist, nil)
	if err != nil {
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	var errs []error
	errs = append(errs, r.eachLive(ctx, kind, func(o *metav1.PartialObjectMetadata) {
		errs = append(errs, r.release(ctx, o))
	}, client.InNamespace(req.name.Namespace), client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*untagged)}))
	return reconcile.Result{}, errors.Join(errs...)
}

// release leaves alone what is still tagged, what another controls, and what a
// parent that is gone or going owns: that is the garbage collector's.
func (r *releaser[P, S]) release(ctx context.Context, o client.Object) error {
	ref := metav1.GetControllerOfNoCopy(o)
	if o.GetLabels()[r.Tags.MapKey] != "" || !isOwnerKind(ref, r.parentKind) {
		return nil
	}
	// Not the cache: one that is behind may not know the parent, and nobody would
	// look again.
	parent := r.NewParent()
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}, parent); err != nil {
		return client.IgnoreNotFound(err)
	}
	if parent.GetUID() != ref.UID || parent.GetDeletionTimestamp() != nil {
		return nil
	}
	return client.IgnoreNotFound(r.disown(ctx, o, ref.UID))
}

// isOwnerKind compares without the version: a parent keeps its outputs when its
// API moves on.
func isOwnerKind(ref *metav1.OwnerReference, kind schema.GroupVersionKind) bool {
	if ref == nil || ref.Kind != kind.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == kind.Group
}
