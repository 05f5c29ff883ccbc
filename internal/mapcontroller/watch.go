// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/installed"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Watch is a kind that a Controller reads from a cache, and whose events enqueue keys.
type Watch struct {
	Object client.Object
	// Indexers are the indexes that its store needs.
	Indexers toolscache.Indexers
	Events   EventHandler
	// Optional and Live are those of the Input or Output. Neither kind is watched before it can be listed.
	Optional, Live bool
}

// Watches are the kinds of a Controller, in the order of its spec.
type Watches struct {
	Parent                   Watch
	Inputs, Outputs, Related []Watch
}

// All returns all of them.
func (w *Watches) All() []Watch {
	return slices.Concat([]Watch{w.Parent}, w.Inputs, w.Outputs, w.Related)
}

// Watches returns what has to be watched. Whoever adds no controller to a manager needs it.
func (c *Controller) Watches() Watches {
	w := Watches{Parent: Watch{Object: c.spec.NewParent(), Events: c.parentEvents()}}
	for _, in := range c.spec.Inputs {
		w.Inputs = append(w.Inputs, Watch{Object: in.Object, Indexers: c.lookup.InputIndexers(), Events: c.inputEvents(in)})
	}
	for i, out := range c.spec.Outputs {
		w.Outputs = append(w.Outputs, Watch{
			Object: out.Object, Indexers: c.lookup.OutputIndexers(i), Events: c.outputEvents(out), Optional: out.Optional,
		})
	}
	for _, related := range c.spec.RelatedKinds {
		w.Related = append(w.Related, Watch{
			Object: related.Object, Events: c.relatedEvents(related), Optional: related.Optional, Live: related.Live,
		})
	}
	return w
}

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
	if err := s.controller.WatchOptional(ctx, s.mgr.GetCache(), s.newCache, keys.Watch); err != nil {
		s.log.Error(err, "Failed to watch optional kinds")
		return
	}
	s.controller.kindsBack()
}

// newCache returns another cache with the manager's client.
func (s *starter) newCache(o cache.Options) (cache.Cache, error) {
	o.HTTPClient, o.Scheme, o.Mapper = s.mgr.GetHTTPClient(), s.mgr.GetScheme(), s.mgr.GetRESTMapper()
	return cache.New(s.mgr.GetConfig(), o)
}

// WatchOptional fills the cache with the optional kinds, and one that it makes with the children
// of outputs, and watches them. That is another one, because the cache may hold other objects of
// the same kind.
func (c *Controller) WatchOptional(
	ctx context.Context, informers cache.Cache, newCache func(cache.Options) (cache.Cache, error),
	watch func(source.TypedSource[Request]) error,
) error {
	var synced []toolscache.InformerSynced
	add := func(from cache.Cache, w Watch) error {
		informer, err := from.GetInformer(ctx, w.Object, cache.BlockUntilSynced(false))
		if err == nil {
			err = errors.Join(informer.AddIndexers(w.Indexers), watch(source.TypedKind(from, w.Object, w.Events)))
			synced = append(synced, informer.HasSynced)
		}
		return err
	}
	var err error
	watches := c.Watches()
	for _, w := range watches.All() {
		if w.Optional {
			err = errors.Join(err, add(informers, w))
		}
	}
	for i, out := range c.spec.Outputs {
		if out.Children == nil || err != nil {
			continue
		}
		options, invalid := c.childOptions(out.Children)
		children, failed := newCache(options)
		if err = errors.Join(invalid, failed); err == nil {
			go func() { _ = children.Start(ctx) }()
			err = add(children, Watch{Object: out.Children.Object, Indexers: c.lookup.ChildIndexers(i), Events: c.childEvents(out)})
		}
	}
	if err == nil && toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		c.optional.Watches()
	}
	return err
}

// childOptions are those of a cache of the children of a kind.
func (c *Controller) childOptions(kind *plan.Children) (o cache.Options, err error) {
	exists, err := labels.Parse(kind.Label)
	only := map[string]cache.Config{}
	for _, namespace := range c.options.Namespaces {
		if namespace != metav1.NamespaceAll {
			only[namespace] = cache.Config{}
		}
	}
	return cache.Options{
		NewInformer: c.lookup.ChildStores.NewInformer, DefaultNamespaces: only,
		ByObject: map[client.Object]cache.ByObject{kind.Object: {Label: exists, Transform: kind.Strip}},
	}, err
}
