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

// Host runs the controllers of a MapController: a manager, or what takes its place in a simulation.
type Host struct {
	Dependencies Dependencies
	Log          logr.Logger
	// Cache fills Options.Stores. NewCache returns another cache with the same client.
	Cache    cache.Cache
	NewCache func(cache.Options) (cache.Cache, error)
	// Objects runs a controller of objects, as that of statuses, and Keys one of keys. It starts at once if the Host runs already.
	Objects Runner[reconcile.Request]
	Keys    Runner[Request]
}

// Runner runs a controller with its sources.
type Runner[R comparable] func(name string, o ctrl.TypedOptions[R], sources ...source.TypedSource[R]) (ctrl.TypedController[R], error)

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
	start, err := c.SetupWith(Host{
		Dependencies: Dependencies{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Scheme: mgr.GetScheme(), Discovery: served},
		Log:          mgr.GetLogger(), Cache: mgr.GetCache(), Objects: runsIn[reconcile.Request](mgr), Keys: runsIn[Request](mgr),
		NewCache: func(o cache.Options) (cache.Cache, error) {
			o.HTTPClient, o.Scheme, o.Mapper = mgr.GetHTTPClient(), mgr.GetScheme(), mgr.GetRESTMapper()
			return cache.New(mgr.GetConfig(), o)
		},
	}, o)
	if err != nil {
		return err
	}
	return mgr.Add(start)
}

func runsIn[R comparable](mgr manager.Manager) Runner[R] {
	return func(name string, o ctrl.TypedOptions[R], sources ...source.TypedSource[R]) (ctrl.TypedController[R], error) {
		c, err := ctrl.NewTyped(name, mgr, o)
		for _, s := range sources {
			if err == nil {
				err = c.Watch(s)
			}
		}
		return c, err
	}
}

// SetupWith returns what a Host has to start, whether it leads or not.
func (c MapController) SetupWith(h Host, o Options) (manager.Runnable, error) {
	ctl, err := c.New(h.Dependencies, o)
	if err != nil {
		return nil, err
	}
	h.Log = h.Log.WithValues("controller", ctl.spec.Name)
	s := &starter{controller: ctl, host: h}
	if !ctl.spec.Optional {
		err = s.startStatus(context.Background())
	}
	return s, err
}

// CacheSyncTimeout is how long a controller waits for the caches. The default of
// controller-runtime, two minutes, ends the process while it lists a million objects,
// and the next process starts over. Readiness says that the caches are not filled.
const CacheSyncTimeout = 24 * time.Hour

// startStatus adds the status controller. No predicate: what the cache shows of a
// status may differ from what the last write was compared with. Many workers: a parent
// that takes long, as the release of many outputs does, or a namespace whose admission
// hangs, must not hold up the others.
//
// It waits for no cache but that of the parents, so that these have a status while the
// others are filled.
func (s *starter) startStatus(ctx context.Context) error {
	c := s.controller
	parents, err := s.host.Cache.GetInformer(ctx, c.parentKind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if !c.options.Stores.Holds(c.parentKind) {
		return errors.New("the manager's cache does not fill Stores, so nothing would be found: set cache.Options.NewInformer")
	}
	_, err = s.host.Objects(c.spec.Name+"-status", ctrl.Options{
		Reconciler: reconcile.Func(c.ReconcileStatus), MaxConcurrentReconciles: c.options.Workers, CacheSyncTimeout: CacheSyncTimeout,
	}, &source.Informer{Informer: parents, Handler: &handler.EnqueueRequestForObject{}}, source.Func(c.changed.Start))
	return err
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
		c.report(epoch, parent, search, p, c.aggregator.Decide(epoch, search, parent.Object.GetUID(), p.Key),
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

// keySource is a source of the controller of keys: it is given the queue, to which
// it adds the search for outputs that lost their map key unseen: while no manager ran, or
// while a watch was broken, after which outputs are listed again.
func (c *Controller) keySource(ctx context.Context, q keyQueue) error {
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
	host       Host
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
		if !s.controller.installed.AwaitLists(ctx, listed, false, s.host.Log) {
			return nil
		}
		// Filled also where this manager does not lead yet: by then the kind may be gone,
		// and the other controllers wait for every cache.
		if err := s.startStatus(ctx); err != nil {
			return err
		}
	}
	for started := false; ; started = true {
		if !s.controller.installed.Wait(ctx, s.host.Log, s.controller.wakeParents) {
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
		case <-s.controller.installed.Suspected:
		}
	}
}

// startKeys adds the controller when all its kinds are in the cache: a parent's
// keys are looked up there when the parent's event comes.
func (s *starter) startKeys(ctx context.Context) error {
	c := s.controller
	if err := c.checkScopes(); err != nil {
		return err
	}
	sources := []source.TypedSource[Request]{source.TypedFunc[Request](c.keySource)}
	watch := func(src source.TypedSource[Request]) error {
		sources = append(sources, src)
		return nil
	}
	var errs []error
	// The cache is filled with the live kinds first: a decision without them would take what exists for missing.
	live := c.installed.AwaitLists(ctx, c.kinds.Live, true, s.host.Log)
	for _, w := range c.Watches() {
		if !w.Optional && (!w.Live || live) {
			_, err := w.fill(ctx, s.host.Cache, watch)
			errs = append(errs, err)
		}
	}
	later := c.installed.List(ctx, c.kinds.Optional)
	if later == nil {
		errs = append(errs, s.watchOptional(ctx, watch))
	} else if !installed.NobodyCan(later) {
		c.installed.Want() // the API server failed: there may be outputs, whatever the parents' specs say now
	}
	if err := errors.Join(errs...); err != nil || !s.host.Cache.WaitForCacheSync(ctx) {
		return err
	}
	keys, err := s.host.Keys(c.spec.Name, ctrl.TypedOptions[Request]{
		Reconciler: c, MaxConcurrentReconciles: c.options.Workers, RateLimiter: c.attempts, CacheSyncTimeout: CacheSyncTimeout,
		LogConstructor: func(req *Request) logr.Logger {
			if req == nil {
				return s.host.Log
			}
			return s.host.Log.WithValues("namespace", req.Parent.Namespace, "name", req.Parent.Name, "mapKey", req.MapKey)
		},
	}, sources...)
	if err == nil && later != nil {
		go s.awaitOptional(ctx, keys.Watch)
	}
	return err
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

// wakeParents updates every parent's status.
func (c *Controller) wakeParents() {
	for _, parent := range c.lookup.Parents(nil) {
		c.changed.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
	}
}
