// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/installed"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
	"mapcontroller.dev/snapshotschedule/internal/transport"
)

// SetupWithManager adds the controller to a manager. The status controller starts
// at once unless the parents are Optional, the controller of keys when all kinds are
// installed.
func (c MapController) SetupWithManager(mgr manager.Manager, o Options) error {
	if !transport.ReadsServerClock(mgr.GetHTTPClient().Transport) {
		return errors.New("the REST config does not read the API server's clock, so nothing would be deleted: call transport.ReadServerClock")
	}
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	ctl, err := c.New(Dependencies{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Scheme: mgr.GetScheme(), Discovery: served,
	}, o)
	if err != nil {
		return err
	}
	s := &starter{
		controller: ctl, mgr: mgr, log: mgr.GetLogger().WithValues("controller", ctl.spec.Name),
	}
	if !ctl.spec.Optional {
		err = s.startStatus(context.Background())
	}
	return errors.Join(err, mgr.Add(s))
}

// cacheSyncTimeout is how long a controller waits for the caches. The default of
// controller-runtime, two minutes, ends the process while it lists a million objects,
// and the next process starts over. Readiness says that the caches are not filled.
const cacheSyncTimeout = 24 * time.Hour

// startStatus adds the status controller. No predicate: what the cache shows of a
// status may differ from what the last write was compared with. Many workers: a parent
// that takes long, as the release of many outputs does, or a namespace whose admission
// hangs, must not hold up the others.
//
// It waits for no cache but that of the parents, so that these have a status while the
// others are filled.
func (s *starter) startStatus(ctx context.Context) error {
	parents, err := s.mgr.GetCache().GetInformer(ctx, s.controller.parentKind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if !s.controller.options.Stores.Holds(s.controller.parentKind) {
		return errors.New("the manager's cache does not fill Stores, so nothing would be found: set cache.Options.NewInformer")
	}
	return builder.ControllerManagedBy(s.mgr).
		Named(s.controller.spec.Name + "-status").
		WithOptions(ctrl.Options{MaxConcurrentReconciles: s.controller.options.Workers, CacheSyncTimeout: cacheSyncTimeout}).
		WatchesRawSource(&source.Informer{Informer: parents, Handler: &handler.EnqueueRequestForObject{}}).
		WatchesRawSource(source.Func(s.controller.StatusSource)).
		Complete(reconcile.Func(s.controller.ReconcileStatus))
}

// ReconcileStatus maintains a parent's status and finalizer. It is separate from
// the keys, so that a parent has a status also where the kinds of its keys are
// missing.
func (c *Controller) ReconcileStatus(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !c.statusShares.Enter(req.Namespace, req) {
		return reconcile.Result{}, nil // it is enqueued when a worker of its namespace is free
	}
	defer c.statusShares.Leave(req.Namespace)
	parent, ok := c.parent(req.NamespacedName)
	if !ok {
		c.parentDeleted(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	search := plan.SearchOf(req.NamespacedName) // the key of what concerns no map key
	released, err := c.executor.Release(ctx, parent, func() bool { return c.aggregator.Settled(parent.Object) })
	switch {
	case err != nil && ctx.Err() == nil && !apierrors.IsConflict(err):
		p := plan.Plan{Key: plan.KeyStatus{Generation: parent.Object.GetGeneration()}}
		epoch := c.aggregator.Epoch()
		c.report(epoch, parent.Object, search, p, c.aggregator.Decide(epoch, search, parent.Object.GetUID(), p.Key),
			Outcome{Failed: []Failure{{Verb: execute.VerbRelease, Object: parent.Object, Err: err}}})
	case err == nil && c.aggregator.Knows(search):
		c.keys.Add(search) // a pass over it finds out whether anything is still refused
	}
	if parent.Object.GetDeletionTimestamp() != nil {
		// It may stay for long, and has no status or metrics any more.
		c.forget(parent.Object)
		return reconcile.Result{RequeueAfter: released.Again}, err
	}
	if released.Changed {
		return reconcile.Result{}, nil // its event follows; a status written now would conflict
	}
	result, statusErr := c.writer.Write(ctx, parent, released.All)
	if again := released.Again; again > 0 && (result.RequeueAfter == 0 || again < result.RequeueAfter) {
		result.RequeueAfter = again
	}
	return result, errors.Join(err, statusErr)
}

// StatusSource is a source of the status controller: it is given the queue.
func (c *Controller) StatusSource(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return c.changed.Start(ctx, q)
}

// KeySource is a source of the controller of keys: it is given the queue, to which
// it adds the search for outputs that lost their map key unseen: while no manager ran, or
// while a watch was broken, after which outputs are listed again.
func (c *Controller) KeySource(ctx context.Context, q keyQueue) error {
	err := c.keys.Start(ctx, q)
	q.Add(plan.SearchAll)
	c.options.Stores.OnList(func(example runtime.Object, err error) {
		if o, ok := example.(client.Object); err == nil && ok && c.kinds.Output(o) != nil {
			c.keys.Add(plan.SearchAll)
		}
	})
	return err
}

// starter starts the controller of keys once all kinds are installed. An informer
// of a missing kind would end the manager.
type starter struct {
	controller *Controller
	mgr        manager.Manager
	log        logr.Logger
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. A manager that does
// not lead fills its caches as well, so that it can take over at once.
func (*starter) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable. It checks the kinds again when a write found
// one missing, because somebody deleted its definition. Informers recover by
// themselves.
func (s *starter) Start(ctx context.Context) error {
	if s.controller.spec.Optional {
		listed := append([]schema.GroupVersionKind{s.controller.kinds.Ownership.Parent}, s.controller.kinds.Needed...)
		o := s.controller.options
		if !installed.AwaitLists(ctx, s.controller.guard.Live, listed, o.Namespaces, o.KindsInterval, s.log) {
			return nil
		}
		// Filled also where this manager does not lead yet: by then the kind may be gone,
		// and the other controllers wait for every cache.
		if err := s.startStatus(ctx); err != nil {
			return err
		}
	}
	for started := false; ; started = true {
		if !s.controller.installed.Wait(ctx, s.controller.options.KindsInterval, s.log, s.controller.wakeParents) {
			return nil
		}
		s.controller.wakeParents()
		if !started {
			if err := s.startKeys(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.controller.installed.Suspected():
		}
	}
}

// startKeys adds the controller when all its kinds are in the cache: a parent's
// keys are looked up there when the parent's event comes.
func (s *starter) startKeys(ctx context.Context) error {
	if err := s.controller.checkScopes(); err != nil {
		return err
	}
	b := builder.TypedControllerManagedBy[Request](s.mgr).
		Named(s.controller.spec.Name).
		WithOptions(ctrl.TypedOptions[Request]{
			MaxConcurrentReconciles: s.controller.options.Workers, RateLimiter: s.controller.attempts, CacheSyncTimeout: cacheSyncTimeout,
		}).
		WithLogConstructor(func(req *Request) logr.Logger {
			if req == nil {
				return s.log
			}
			return s.log.WithValues("namespace", req.Parent.Namespace, "name", req.Parent.Name, "mapKey", req.MapKey)
		}).
		WatchesRawSource(source.TypedFunc[Request](s.controller.KeySource))
	optional, err := s.watchKinds(ctx, b)
	if err != nil || !s.mgr.GetCache().WaitForCacheSync(ctx) {
		return err
	}
	keys, err := b.Build(s.controller)
	if err == nil && !optional && len(s.controller.kinds.Optional) > 0 {
		go s.awaitOptional(ctx, keys)
	}
	return err
}

// watchKinds fills the cache with all kinds, and watches them; those that may be missing only if
// they can be listed.
func (s *starter) watchKinds(ctx context.Context, b *builder.TypedBuilder[Request]) (optional bool, err error) {
	live, watches := s.lists(ctx, s.controller.kinds.Live), s.controller.Watches()
	for _, w := range watches.All() {
		if w.Optional || w.Live && !live {
			continue
		}
		informer, failed := s.mgr.GetCache().GetInformer(ctx, w.Object, cache.BlockUntilSynced(false))
		if failed == nil {
			b.WatchesRawSource(source.TypedKind(s.mgr.GetCache(), w.Object, w.Events))
			failed = informer.AddIndexers(w.Indexers)
		}
		err = errors.Join(err, failed)
	}
	if optional = s.listsOptional(ctx); optional {
		err = errors.Join(err, s.controller.WatchOptional(ctx, s.mgr.GetCache(), s.newCache, func(src source.TypedSource[Request]) error {
			b.WatchesRawSource(src)
			return nil
		}))
	}
	return optional, err
}

// checkScopes returns an error for kinds that could never be found, or never be owned, by the
// parents: those without a namespace belong to parents without one.
func (c *Controller) checkScopes() error {
	var errs []error
	check := func(what string, kind client.Object, clusterScoped bool) {
		namespaced, err := c.executor.Client.IsObjectNamespaced(kind)
		if err == nil && namespaced == clusterScoped {
			err = fmt.Errorf("map controller %q: %s %s: namespaced is %t, and ClusterScoped of the parents is %t",
				c.spec.Name, what, c.kinds.Of(kind).Kind, namespaced, c.spec.ClusterScoped)
		}
		errs = append(errs, err)
	}
	check("parent", c.parentKind, c.spec.ClusterScoped)
	if !c.spec.ClusterScoped {
		for _, in := range c.kinds.Inputs {
			check("input", in.Object, false)
		}
		for _, out := range c.kinds.Outputs {
			if !out.Optional {
				check("output", out.Object, false)
			}
		}
	}
	return errors.Join(errs...)
}

// kindsBack reconciles all keys again, and has every status wait for that: what was
// decided while a kind was missing says nothing about what there is now.
func (c *Controller) kindsBack() {
	c.aggregator.Undecide()
	c.keys.With(c.fanOutAll)
}

// listsOptional returns whether the optional kinds can be listed. An API server that fails to is
// asked again later: whatever depends on these kinds is told that they are missing.
func (s *starter) listsOptional(ctx context.Context) bool {
	kinds := s.controller.kinds.Optional
	if len(kinds) == 0 {
		return false
	}
	err := installed.List(ctx, s.controller.guard.Live, kinds, s.controller.options.Namespaces)
	if err != nil && !installed.NobodyCan(err) {
		s.controller.optional.Want() // there may be outputs, whatever the parents' specs say now
	}
	return err == nil
}

// lists returns whether kinds that may be missing can be listed. If so, the cache is filled
// with them first: a decision without them would take what exists for missing.
func (s *starter) lists(ctx context.Context, kinds []schema.GroupVersionKind) bool {
	return len(kinds) > 0 && installed.AwaitLists(ctx, s.controller.guard.Live, kinds, s.controller.options.Namespaces, 0, s.log)
}

// wakeParents updates every parent's status.
func (c *Controller) wakeParents() {
	for _, parent := range c.lookup.Parents(nil) {
		c.changed.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
	}
}
