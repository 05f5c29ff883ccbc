// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Parts are what a controller takes from a manager.
type Parts struct {
	// Client writes, Live reads; neither through a cache.
	Client client.Client
	Live   client.Reader
	// Create creates an output. Nil: the Client does.
	Create func(context.Context, client.Object) error
	Scheme *runtime.Scheme
	// Discovery tells which kinds are served.
	Discovery discovery.ServerResourcesInterface
}

// Machine is a controller without queues, watches and workers: what they do is
// left to whoever turns it, one step at a time. A simulation is its use; a
// program sets a controller up with a manager.
type Machine struct {
	// Keys looks at one key.
	Keys reconcile.TypedReconciler[Request]
	// Parents, Inputs and Outputs turn events into keys; the latter two by kind.
	Parents         handler.TypedEventHandler[client.Object, Request]
	Inputs, Outputs []handler.TypedEventHandler[client.Object, Request]

	// Status writes one parent's. Any event of a parent wakes it, and what comes
	// by the queue that StatusSource is given.
	Status       reconcile.Reconciler
	StatusSource func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error

	// Releases looks at outputs that lost their map key. Vanished turns events of
	// outputs, by kind, into requests; ReleaseSource asks for the first look.
	Releases      reconcile.TypedReconciler[Release]
	Vanished      []handler.TypedEventHandler[client.Object, Release]
	ReleaseSource func(context.Context, workqueue.TypedRateLimitingInterface[Release]) error
}

// Assemble puts a controller together without a manager. Whoever does so fills
// Options.Stores, indexed by InputIndexers and OutputIndexers.
func (c *MapController[P, S]) Assemble(parts Parts, o Options) (*Machine, error) {
	m, err := c.withDefaults().assemble(parts, o)
	if err != nil {
		return nil, err
	}
	turned := &Machine{
		Keys:          m.controller,
		Parents:       m.router.parents(),
		Status:        m.status,
		StatusSource:  m.status.wake.start,
		Releases:      m.releaser,
		ReleaseSource: m.releaser.start,
	}
	for _, in := range c.Inputs {
		turned.Inputs = append(turned.Inputs, m.router.inputs(in))
	}
	for kind, out := range c.Outputs {
		turned.Outputs = append(turned.Outputs, m.router.outputs(out))
		turned.Vanished = append(turned.Vanished, m.releaser.vanished(kind))
	}
	return turned, nil
}

type machine[P client.Object, S any] struct {
	controller *controller[P, S]
	router     router[P, S]
	status     *statusWriter[P, S]
	releaser   *releaser[P, S]
}

func (c *MapController[P, S]) assemble(parts Parts, o Options) (*machine[P, S], error) {
	if o.Stores == nil {
		return nil, errors.New("no Stores: give the engine those that the cache was made with")
	}
	if parts.Create == nil {
		parts.Create = func(ctx context.Context, output client.Object) error {
			return parts.Client.Create(ctx, output, client.FieldOwner(c.Name))
		}
	}
	parentKind, err := apiutil.GVKForObject(c.NewParent(), parts.Scheme)
	if err != nil {
		return nil, err
	}
	kinds, err := c.neededKinds(parts)
	if err != nil {
		return nil, err
	}
	ctl := &controller[P, S]{
		MapController: c,
		Options:       o,
		cache:         view{Stores: o.Stores, indexes: indexesOf(c.Name)},
		client:        parts.Client,
		create:        parts.Create,
		live:          parts.Live,
		scheme:        parts.Scheme,
		fresh:         &freshParents[P]{live: parts.Live, clock: o.Clock, empty: c.NewParent},
		expectations:  newExpectations(o.Clock),
		pace:          newPace(o.DeletesPerSecond),
		retries:       newRetries(),
		deletes:       newRetries(),
		deleted:       lru.New(deletedRemembered),
		kinds:         kinds,
	}
	status := &statusWriter[P, S]{
		controller: ctl,
		wake:       wakeUp{after: min(o.StatusInterval/10, time.Second/2)},
		written:    map[types.NamespacedName]time.Time{},
		unset:      map[types.NamespacedName]time.Time{},
	}
	ctl.ledger = newLedger(c.Merge, status.wake.add)
	return &machine[P, S]{
		controller: ctl,
		router:     router[P, S]{controller: ctl, parentKind: parentKind},
		status:     status,
		releaser:   &releaser[P, S]{controller: ctl, parentKind: parentKind},
	}, nil
}

func (c *MapController[P, S]) neededKinds(parts Parts) (*servedKinds, error) {
	kinds := &servedKinds{discovery: parts.Discovery, suspect: make(chan struct{}, 1)}
	for _, in := range c.Inputs {
		gvk, err := apiutil.GVKForObject(in.Object, parts.Scheme)
		if err != nil {
			return nil, err
		}
		kinds.needed = append(kinds.needed, gvk)
	}
	for _, out := range c.Outputs {
		gvk, err := apiutil.GVKForObject(out.Object, parts.Scheme)
		if err != nil {
			return nil, err
		}
		kinds.needed = append(kinds.needed, gvk)
	}
	return kinds, nil
}
