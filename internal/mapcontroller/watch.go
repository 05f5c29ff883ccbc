// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
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
	for _, related := range c.spec.Related.Kinds {
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
	}
}

// watchOptional fills the cache with the optional kinds, once, and prepares what decisions about them read beside it. If that fails,
// it is tried again later: the others need not wait.
func (s *starter) watchOptional(ctx context.Context, watch watches) error {
	var synced []toolscache.InformerSynced
	var errs []error
	for _, w := range s.controller.Watches() {
		if w.Optional {
			is, err := w.fill(ctx, s.host.Cache, watch)
			synced, errs = append(synced, is), append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	prepare := func(ctx context.Context) (bool, error) {
		err := s.prepare(ctx, synced)
		if err != nil && ctx.Err() == nil {
			s.host.Log.Error(err, "Failed to prepare decisions about optional kinds")
		}
		return err == nil, ctx.Err()
	}
	if prepared, _ := prepare(ctx); !prepared {
		backoff := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6, Cap: time.Minute}
		go func() { _ = backoff.DelayFunc().Until(ctx, false, true, prepare) }()
	}
	return nil
}

// prepare has decisions know the optional kinds once the cache has them, and what is read beside it.
func (s *starter) prepare(ctx context.Context, synced []toolscache.InformerSynced) error {
	c := s.controller
	if c.spec.Related.Prepare != nil {
		if err := c.spec.Related.Prepare(ctx, s.host); err != nil {
			return err
		}
	}
	if toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		c.installed.Watches()
		c.kindsBack()
	}
	return nil
}
