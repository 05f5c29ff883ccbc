// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

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

// Watches returns what has to be watched: the parents, and the inputs, outputs and related kinds in the order of the spec.
func (c *Controller) Watches() []Watch {
	all := []Watch{{Object: c.spec.NewParent(), Events: c.parentEvents()}}
	for _, in := range c.spec.Inputs {
		all = append(all, Watch{Object: in.Object, Indexers: c.lookup.InputIndexers(), Events: c.inputEvents(in)})
	}
	for i, out := range c.spec.Outputs {
		all = append(all, Watch{Object: out.Object, Indexers: c.lookup.OutputIndexers(i), Events: c.outputEvents(out), Optional: out.Optional})
	}
	for _, related := range c.spec.RelatedKinds {
		all = append(all, Watch{Object: related.Object, Events: c.relatedEvents(related), Optional: related.Optional, Live: related.Live})
	}
	return all
}

// watches adds a source to the controller of keys.
type watches func(source.TypedSource[Request]) error

// fill has a cache filled with a kind, and watches it.
func (w *Watch) fill(ctx context.Context, from cache.Cache, watch watches) (toolscache.InformerSynced, error) {
	informer, err := from.GetInformer(ctx, w.Object, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	return informer.HasSynced, errors.Join(informer.AddIndexers(w.Indexers), watch(source.TypedKind(from, w.Object, w.Events)))
}

// awaitOptional looks for the optional kinds once a program needs them, and watches them
// when they can be listed.
func (s *starter) awaitOptional(ctx context.Context, watch watches) {
	c := s.controller
	select {
	case <-ctx.Done():
		return
	case <-c.installed.Wanted:
	}
	if !c.installed.AwaitLists(ctx, c.kinds.Optional, false, s.host.Log) {
		return
	}
	if err := s.watchOptional(ctx, watch); err != nil {
		s.host.Log.Error(err, "Failed to watch optional kinds")
		return
	}
	c.kindsBack()
}

// watchOptional fills the cache with the optional kinds, and another one with the children of outputs, because the
// first may hold other objects of their kind. It returns when both have them.
func (s *starter) watchOptional(ctx context.Context, watch watches) error {
	c := s.controller
	var synced []toolscache.InformerSynced
	var errs []error
	add := func(from cache.Cache, w Watch) {
		is, err := w.fill(ctx, from, watch)
		synced, errs = append(synced, is), append(errs, err)
	}
	for _, w := range c.Watches() {
		if w.Optional {
			add(s.host.Cache, w)
		}
	}
	for i, out := range c.spec.Outputs {
		if out.Children == nil || errors.Join(errs...) != nil {
			continue
		}
		options, invalid := c.childOptions(out.Children)
		children, failed := s.host.NewCache(options)
		if err := errors.Join(invalid, failed); err != nil {
			return err
		}
		go func() { _ = children.Start(ctx) }()
		add(children, Watch{Object: out.Children.Object, Indexers: c.lookup.ChildIndexers(i), Events: c.childEvents(out)})
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		c.installed.Watches()
	}
	return nil
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
