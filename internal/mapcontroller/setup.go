// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
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
		return errors.New("the REST config does not read the API server's clock, without which nothing is deleted: call ConfigureClock with it")
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
	w := &watcher{
		Controller: ctl, mgr: mgr, log: mgr.GetLogger().WithValues("controller", ctl.Name),
		ready: make(chan struct{}), failed: make(chan error),
	}
	return errors.Join(ctl.setupStatus(mgr), w.setupKeys(), w.setupReleases(), mgr.Add(everyManager(w.watchKinds)))
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
			c.parentDeleted(req.NamespacedName)
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
			c.forget(parent.Object)
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
	// The queue first: an event between the scan and the queue would be lost.
	err := c.released.start(ctx, q)
	for _, out := range c.Outputs {
		for _, namespace := range namespaces {
			q.Add(execute.Release{Kind: c.rules.KindOf(out.Object), Name: types.NamespacedName{Namespace: namespace}})
		}
	}
	return err
}

// everyManager runs whether or not this manager leads, so that one that takes
// over has its caches filled already.
type everyManager manager.RunnableFunc

// Start implements manager.Runnable.
func (e everyManager) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (e everyManager) NeedLeaderElection() bool { return false }

// watcher watches inputs and outputs once their kinds are installed.
type watcher struct {
	*Controller

	mgr manager.Manager
	log logr.Logger
	// ready is closed when all kinds are installed and their informers started.
	ready chan struct{}
	// failed receives the error of a source that did not start, which ends the
	// manager: it would run on without the events of a kind.
	failed chan error
	// keys is the queue of keys, once its controller has started.
	keys lateQueue[Request]
}

func (w *watcher) setupKeys() error {
	b := builder.TypedControllerManagedBy[Request](w.mgr).
		Named(w.Name).
		WithOptions(ctrl.TypedOptions[Request]{MaxConcurrentReconciles: w.Workers, RateLimiter: w.attempts}).
		WithLogConstructor(func(req *Request) logr.Logger {
			if req == nil {
				return w.log
			}
			return w.log.WithValues("namespace", req.Parent.Namespace, "name", req.Parent.Name, "mapKey", req.MapKey)
		}).
		WatchesRawSource(source.TypedFunc[Request](w.keys.start)).
		WatchesRawSource(whenReady(w, source.TypedKind(w.mgr.GetCache(), w.NewParent(), w.ParentEvents())))
	for i, in := range w.Inputs {
		b = b.WatchesRawSource(whenReady(w, source.TypedKind(w.mgr.GetCache(), in.Object, w.InputEvents(i))))
	}
	for i, out := range w.Outputs {
		b = b.WatchesRawSource(whenReady(w, source.TypedKind(w.mgr.GetCache(), out.Object, w.OutputEvents(i))))
	}
	live := &liveness{TypedReconciler: w.Controller, clock: w.Clock, waiting: w.keys.waiting}
	return errors.Join(w.mgr.AddHealthzCheck(w.Name, live.Check), b.Complete(live))
}

func (w *watcher) setupReleases() error {
	return builder.TypedControllerManagedBy[execute.Release](w.mgr).
		Named(w.Name + "-release").
		WithLogConstructor(func(*execute.Release) logr.Logger { return w.log }).
		WatchesRawSource(whenReady(w, source.TypedFunc[execute.Release](w.ReleaseSource))).
		Complete(w.ReleaseReconciler())
}

// whenReady starts a source when all kinds are installed and in the cache: a
// parent's keys are looked up there when the parent's event comes.
func whenReady[T comparable](w *watcher, s source.TypedSource[T]) source.TypedSource[T] {
	return source.TypedFunc[T](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[T]) error {
		go func() {
			select {
			case <-ctx.Done():
				return
			case <-w.ready:
			}
			if !w.mgr.GetCache().WaitForCacheSync(ctx) {
				return
			}
			if err := s.Start(ctx, q); err != nil {
				w.failed <- err
			}
		}()
		return nil
	})
}

// watchKinds starts the informers when all kinds are installed, and checks again
// when a write found a kind missing, because somebody deleted its definition.
// Informers recover by themselves; keys must be enqueued.
func (w *watcher) watchKinds(ctx context.Context) error {
	if !w.kinds.wait(ctx, w.KindsInterval, w.log, w.wakeParents) {
		return nil
	}
	for _, in := range w.Inputs {
		if err := w.startInformer(ctx, in.Object, w.InputIndexers()); err != nil {
			return err
		}
	}
	for _, out := range w.Outputs {
		if err := w.startInformer(ctx, out.Object, w.OutputIndexers()); err != nil {
			return err
		}
	}
	close(w.ready)
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-w.failed:
			return fmt.Errorf("start a source: %w", err)
		case <-w.kinds.suspect:
		}
		missing, err := w.kinds.check()
		w.wakeParents()
		if err == nil && len(missing) == 0 {
			continue
		}
		if !w.kinds.wait(ctx, w.KindsInterval, w.log, w.wakeParents) {
			return nil
		}
		w.wakeParents()
		w.keys.with(func(q queue) {
			for _, parent := range w.observer.Parents(nil) {
				w.fanOut(q, parent)
			}
		})
	}
}

func (w *watcher) startInformer(ctx context.Context, kind client.Object, indexers toolscache.Indexers) error {
	informer, err := w.mgr.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return informer.AddIndexers(indexers)
}

// wakeParents updates every parent's status.
func (w *watcher) wakeParents() {
	for _, parent := range w.observer.Parents(nil) {
		w.changed.add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
	}
}
