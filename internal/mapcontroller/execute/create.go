// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// ErrNameCollision says that an output's name is taken by an object that is not
// the parent's output for this key.
var ErrNameCollision = errors.New("the name is taken")

// errTerminating says that the output exists and is being deleted. Its name can
// be used again once it is gone.
var errTerminating = errors.New("an output of this name is still being deleted")

// errReleasing says that the output has lost its map key and is about to be
// released.
var errReleasing = errors.New("an output of this name is being released")

func (r *run) create(ctx context.Context, want client.Object) {
	shown := expectation{id: r.Rules.IDOf(want)}
	r.Attempts.expect(r.req, shown)
	err := r.Create(ctx, want)
	if err == nil {
		r.outcome.Created = append(r.outcome.Created, want)
		r.log(ctx).V(1).Info("Created output", "output", want.GetName())
		return
	}
	r.Attempts.met(r.req, shown)
	switch {
	case apierrors.IsAlreadyExists(err):
		err = r.alreadyExists(ctx, want)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Everything in the namespace is being deleted, which nobody needs to be
		// told. It is tried again: for a moment the API server says so about a
		// namespace that was created again.
		err = guard.ErrChanged
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		r.KindMissing()
	}
	r.result(VerbCreate, want, err)
}

// alreadyExists explains an AlreadyExists: a crash after the create committed, a
// cache that lags, a second manager, or someone else's object. It is success only
// if the existing object does the work of the desired one.
func (r *run) alreadyExists(ctx context.Context, want client.Object) error {
	have := plan.EmptyLike(want)
	err := r.Guard.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return guard.ErrChanged
	}
	if err != nil {
		return err
	}
	kind, err := r.Rules.OutputKind(want)
	if err != nil {
		return err
	}
	owner := plan.ControllerUID(have)
	owned := owner == r.parent.GetUID()
	key := have.GetLabels()[r.Rules.Tags.MapKey]
	switch {
	case owned && key == "":
		return errReleasing
	case owned && key == r.req.MapKey && have.GetDeletionTimestamp() != nil:
		return errTerminating
	case owned && key == r.req.MapKey:
		return r.covers(kind, want, have)
	case owner == "" && kind.Covers != nil && kind.Covers(want, have):
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNameCollision, want.GetName())
}

// covers returns nil if an output that the cache does not show yet does the work
// of a desired one, or is going to be updated.
func (r *run) covers(kind *plan.Output, want, have client.Object) error {
	switch {
	case kind.Covers != nil && kind.Covers(want, have), kind.Update != nil:
		return nil
	case kind.Covers != nil || plan.Differs(have, want):
		return plan.ErrDiffers
	}
	return nil
}

// NewCreate returns a function that creates outputs without decoding the
// responses: the watch delivers the same objects, and has to decode them anyway.
// With the manager's client, a snapshot costs 0.63 ms of CPU instead of 0.53 ms
// (1.59 instead of 1.43 times a bare client's; make bench ARGS="--only fan-out").
func NewCreate(mgr manager.Manager, rules *plan.Rules, fieldManager string) (func(context.Context, client.Object) error, error) {
	type resource struct {
		client rest.Interface
		name   string
	}
	codecs := serializer.NewCodecFactory(mgr.GetScheme())
	resources := map[schema.GroupVersionKind]resource{}
	for _, out := range rules.Outputs {
		gvk := rules.KindOf(out.Object)
		c, err := apiutil.RESTClientForGVK(gvk, false, informer.IsGeneric(out.Object), mgr.GetConfig(), codecs, mgr.GetHTTPClient())
		if err != nil {
			return nil, err
		}
		resources[gvk] = resource{client: c, name: out.Resource}
	}
	return func(ctx context.Context, o client.Object) error {
		r := resources[rules.KindOf(o)]
		return r.client.Post().
			NamespaceIfScoped(o.GetNamespace(), o.GetNamespace() != "").
			Resource(r.name).
			VersionedParams(&metav1.CreateOptions{FieldManager: fieldManager}, metav1.ParameterCodec).
			Body(o).
			Do(ctx).
			Error()
	}, nil
}
