// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/installed"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// optional are the kinds that may be missing. Until the cache has all of them, none counts
// as there: decisions are told so.
type optional struct {
	// wanted is signaled when a program needs kinds that are missing: until then nobody
	// looks for them, so that a cluster without them costs no request.
	wanted chan struct{}
	// back is called when all kinds are there again.
	back func()

	mu    sync.Mutex
	kinds []schema.GroupVersionKind
	// watched is set once there are informers of the kinds.
	watched bool
	absent  map[schema.GroupVersionKind]bool
}

func newOptional(kinds []schema.GroupVersionKind) *optional {
	return &optional{wanted: make(chan struct{}, 1), kinds: kinds, absent: map[schema.GroupVersionKind]bool{}}
}

// missing returns the kinds if one of them is missing, and that they are wanted.
func (o *optional) missing(wanted bool) []schema.GroupVersionKind {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.kinds) == 0 || o.watched && len(o.absent) == 0 {
		return nil
	}
	if wanted {
		select {
		case o.wanted <- struct{}{}:
		default:
		}
	}
	return o.kinds
}

// lacks returns whether a kind is missing.
func (o *optional) lacks(kind schema.GroupVersionKind) bool {
	return slices.Contains(o.missing(false), kind)
}

// watches says that the cache has all kinds from now on.
func (o *optional) watches() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.watched = true
}

// listed is called when the cache has listed a kind, or could not.
func (o *optional) listed(kind schema.GroupVersionKind, err error) {
	if !slices.Contains(o.kinds, kind) || err != nil && !apierrors.IsNotFound(err) {
		return
	}
	o.mu.Lock()
	was := o.absent[kind]
	if delete(o.absent, kind); err != nil {
		o.absent[kind] = true
	}
	back := was && o.watched && len(o.absent) == 0
	o.mu.Unlock()
	if back {
		o.back()
	}
}

// awaitOptional looks for the optional kinds once a program needs them, and watches them
// when they can be listed.
func (s *starter) awaitOptional(ctx context.Context, keys ctrl.TypedController[Request]) {
	select {
	case <-ctx.Done():
		return
	case <-s.controller.optional.wanted:
	}
	o := s.controller.options
	if !installed.AwaitLists(ctx, s.controller.guard.Live, s.controller.kinds.Optional, o.Namespaces, o.KindsInterval, s.log) {
		return
	}
	if err := s.watchOptional(ctx, keys.Watch); err != nil {
		s.log.Error(err, "Failed to watch optional kinds")
		return
	}
	s.controller.kindsBack()
}

// watchOptional fills the cache with the optional kinds and with the children of outputs,
// and watches them.
func (s *starter) watchOptional(ctx context.Context, watch func(source.TypedSource[Request]) error) error {
	c := s.controller
	var synced []toolscache.InformerSynced
	add := func(from cache.Cache, kind client.Object, indexers toolscache.Indexers, events EventHandler) error {
		informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err == nil {
			err = errors.Join(informer.AddIndexers(indexers), watch(source.TypedKind(from, kind, events)))
			synced = append(synced, informer.HasSynced)
		}
		return err
	}
	var err error
	for i, related := range c.spec.RelatedKinds {
		if related.Optional {
			err = errors.Join(err, add(s.mgr.GetCache(), related.Object, nil, c.RelatedEvents(i)))
		}
	}
	for i, out := range c.spec.Outputs {
		if out.Optional {
			err = errors.Join(err, add(s.mgr.GetCache(), out.Object, c.OutputIndexers(i), c.OutputEvents(i)))
		}
		if out.Children == nil || err != nil {
			continue
		}
		children, invalid := s.childCache(out.Children)
		if err = invalid; err == nil {
			go func() { _ = children.Start(ctx) }()
			err = add(children, out.Children.Object, informer.Indexers(byOutput(out.Children)), c.ChildEvents(i))
		}
	}
	if err == nil && toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		c.optional.watches()
	}
	return err
}

// childCache returns a cache of the children of a kind. It is another than the manager's,
// which may hold other objects of the same kind.
func (s *starter) childCache(kind *plan.Children) (cache.Cache, error) {
	exists, err := labels.Parse(kind.Label)
	if err != nil {
		return nil, err
	}
	only := map[string]cache.Config{}
	for _, namespace := range s.controller.options.Namespaces {
		only[namespace] = cache.Config{}
	}
	return cache.New(s.mgr.GetConfig(), cache.Options{
		HTTPClient: s.mgr.GetHTTPClient(), Scheme: s.mgr.GetScheme(), Mapper: s.mgr.GetRESTMapper(),
		NewInformer: s.controller.childStores.NewInformer, DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{kind.Object: {Label: exists, Transform: kind.Strip}},
	})
}
