// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/installed"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// awaitOptional looks for the optional kinds once a program needs them, and watches them
// when they can be listed.
func (s *starter) awaitOptional(ctx context.Context, keys ctrl.TypedController[Request]) {
	select {
	case <-ctx.Done():
		return
	case <-s.controller.optional.Wanted:
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
			err = add(children, out.Children.Object, c.lookup.ChildIndexers(i), c.ChildEvents(i))
		}
	}
	if err == nil && toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		c.optional.Watches()
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
		NewInformer: s.controller.lookup.ChildStores.NewInformer, DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{kind.Object: {Label: exists, Transform: kind.Strip}},
	})
}
