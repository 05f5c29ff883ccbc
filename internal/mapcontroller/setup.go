// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/execute"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/guard"
)

// statusWorkers is how many parents are reconciled for their status concurrently.
// One that takes long, as the release of many outputs does, must not hold up the
// others.
const statusWorkers = 4

// SetupWithManager adds the controller to a manager. The status controller starts
// at once, the controller of keys when all kinds are installed.
func (c MapController) SetupWithManager(mgr manager.Manager, o Options) error {
	if !guard.ReadsServerClock(mgr.GetHTTPClient().Transport) {
		return errors.New("the manager's REST config does not read the API server's clock, without which nothing is deleted: pass it to ConfigureClock")
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	ctl, err := c.New(Dependencies{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Scheme: mgr.GetScheme(), Discovery: kinds,
	}, o)
	if err != nil {
		return err
	}
	if ctl.executor.Create, err = execute.NewCreate(mgr, ctl.rules, ctl.Name); err != nil {
		return err
	}
	if err := ctl.setupStatus(mgr); err != nil {
		return fmt.Errorf("set up the status controller: %w", err)
	}
	keys := &keysRunner{
		Controller: ctl, mgr: mgr, log: mgr.GetLogger().WithValues("controller", ctl.Name), ready: make(chan struct{}),
	}
	if err := mgr.Add(everyManager(keys.startCaches)); err != nil {
		return err
	}
	return mgr.Add(keys)
}

// ConfigureClock makes the clients of a REST config read the API server's clock,
// as SetupWithManager requires.
var ConfigureClock = guard.Configure

func (c *Controller) setupStatus(mgr manager.Manager) error {
	// No predicate: what the cache shows of a status may differ from what the last
	// write was compared with.
	return builder.ControllerManagedBy(mgr).
		Named(c.Name + "-status").
		WithOptions(ctrl.Options{MaxConcurrentReconciles: statusWorkers}).
		For(c.NewParent()).
		WatchesRawSource(source.Func(c.changed.start)).
		Complete(c.StatusReconciler())
}

// StatusReconciler returns the reconciler of parents, which maintains their status and
// finalizer. It is separate from the keys, so that a parent has a status also
// where the kinds of its keys are missing.
func (c *Controller) StatusReconciler() reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
		parent, ok := c.parent(req.NamespacedName)
		if !ok {
			c.forget(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		var err error
		if c.finalizer != nil {
			if err = c.finalizer.Reconcile(ctx, parent.Object); err != nil {
				err = fmt.Errorf("reconcile finalizer: %w", err)
			}
		}
		if parent.Object.GetDeletionTimestamp() != nil {
			// It may stay for long, and has no status or metrics any more.
			c.forget(req.NamespacedName)
			return reconcile.Result{}, err
		}
		result, statusErr := c.writer.Write(ctx, parent)
		return result, errors.Join(err, statusErr)
	})
}

// StatusSource is a source of the status controller: it is given the queue.
func (c *Controller) StatusSource(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return c.changed.start(ctx, q)
}

// ReleaseReconciler returns the reconciler of outputs that lost their map key.
func (c *Controller) ReleaseReconciler() reconcile.TypedReconciler[execute.Release] {
	return execute.Releaser{Executor: c.executor}
}

// ReleaseSource is a source of the release controller: it is given the queue, and
// adds one look at everything.
func (c *Controller) ReleaseSource(ctx context.Context, q workqueue.TypedRateLimitingInterface[execute.Release]) error {
	namespaces := c.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, out := range c.Outputs {
		for _, namespace := range namespaces {
			q.Add(execute.Release{Kind: c.rules.KindOf(out.Object), Name: types.NamespacedName{Namespace: namespace}})
		}
	}
	return c.released.start(ctx, q)
}

// everyManager runs whether or not this manager leads, so that one that takes
// over has its caches filled already.
type everyManager manager.RunnableFunc

// Start implements manager.Runnable.
func (e everyManager) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (e everyManager) NeedLeaderElection() bool { return false }

// keysRunner starts the controller of keys when all kinds are installed, and
// watches for a kind that is removed afterwards.
type keysRunner struct {
	*Controller

	mgr   manager.Manager
	log   logr.Logger
	queue queue
	// ready is closed when all kinds are installed and their informers started.
	ready chan struct{}
}

func (k *keysRunner) startCaches(ctx context.Context) error {
	if !k.kinds.wait(ctx, k.KindsInterval, k.log, k.wakeParents) {
		return nil
	}
	for _, in := range k.Inputs {
		if err := k.startInformer(ctx, in.Object, k.InputIndexers()); err != nil {
			return err
		}
	}
	for _, out := range k.Outputs {
		if err := k.startInformer(ctx, out.Object, k.OutputIndexers()); err != nil {
			return err
		}
	}
	close(k.ready)
	return nil
}

func (k *keysRunner) startInformer(ctx context.Context, kind client.Object, indexers toolscache.Indexers) error {
	informer, err := k.mgr.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return informer.AddIndexers(indexers)
}

// waitForSync waits until all kinds are in the cache: a parent's keys are looked
// up there when the parent's event comes.
func (k *keysRunner) waitForSync(ctx context.Context) error {
	all := []client.Object{k.NewParent()}
	for _, in := range k.Inputs {
		all = append(all, in.Object)
	}
	for _, out := range k.Outputs {
		all = append(all, out.Object)
	}
	for _, kind := range all {
		if _, err := k.mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// NeedLeaderElection restricts keys to the leader.
func (k *keysRunner) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (k *keysRunner) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-k.ready:
	}
	if err := k.waitForSync(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
		return err
	}
	keys, err := k.newKeys()
	if err != nil {
		return err
	}
	releases, err := k.newReleases()
	if err != nil {
		return err
	}
	go k.watchKinds(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return releases.Start(ctx) })
	g.Go(func() error { return keys.Start(ctx) })
	return g.Wait()
}

func (k *keysRunner) newKeys() (ctrl.TypedController[Request], error) {
	c, err := ctrl.NewTypedUnmanaged(k.Name, ctrl.TypedOptions[Request]{
		Reconciler:              k.Controller,
		MaxConcurrentReconciles: k.Workers,
		RateLimiter:             k.attempts,
		LogConstructor: func(req *Request) logr.Logger {
			if req == nil {
				return k.log
			}
			return k.log.WithValues("namespace", req.Parent.Namespace, "name", req.Parent.Name, "mapKey", req.MapKey)
		},
		SkipNameValidation: k.mgr.GetControllerOptions().SkipNameValidation,
	})
	if err != nil {
		return nil, err
	}
	// A controller that has not started only keeps its sources.
	err = c.Watch(source.TypedKind(k.mgr.GetCache(), k.NewParent(), k.ParentEvents()))
	for i, in := range k.Inputs {
		err = errors.Join(err, c.Watch(source.TypedKind(k.mgr.GetCache(), in.Object, k.InputEvents(i))))
	}
	for i, out := range k.Outputs {
		err = errors.Join(err, c.Watch(source.TypedKind(k.mgr.GetCache(), out.Object, k.OutputEvents(i))))
	}
	return c, errors.Join(err, c.Watch(source.TypedFunc[Request](func(_ context.Context, q queue) error {
		k.queue = q
		return nil
	})))
}

func (k *keysRunner) newReleases() (ctrl.TypedController[execute.Release], error) {
	name := k.Name + "-release"
	c, err := ctrl.NewTypedUnmanaged(name, ctrl.TypedOptions[execute.Release]{
		Reconciler:         k.ReleaseReconciler(),
		LogConstructor:     func(*execute.Release) logr.Logger { return k.mgr.GetLogger().WithValues("controller", name) },
		SkipNameValidation: k.mgr.GetControllerOptions().SkipNameValidation,
	})
	if err != nil {
		return nil, err
	}
	return c, c.Watch(source.TypedFunc[execute.Release](k.ReleaseSource))
}

// watchKinds checks again when a write found a kind missing, because somebody
// deleted its definition. Informers recover by themselves; keys must be woken.
func (k *keysRunner) watchKinds(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.kinds.suspect:
		}
		if missing, err := k.kinds.check(); err == nil && len(missing) == 0 {
			continue
		}
		k.wakeParents()
		if !k.kinds.wait(ctx, k.KindsInterval, k.log, k.wakeParents) {
			return
		}
		k.wakeParents()
		for _, parent := range k.observer.Parents(nil) {
			k.fanOut(k.queue, parent)
		}
	}
}

// wakeParents updates every parent's status.
func (k *keysRunner) wakeParents() {
	for _, parent := range k.observer.Parents(nil) {
		k.changed.add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
	}
}
