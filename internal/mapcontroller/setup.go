// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// statusWorkers is how many parents' statuses are looked at at once. One that
// takes long, as the release of many outputs does, must not hold up the others.
const statusWorkers = 4

// discoveryRetry is when to ask again after the API server did not answer. A
// start must not wait as long for that as for a kind to be installed.
const discoveryRetry = 5 * time.Second

// SetupWithManager adds the controller to a manager. The status controller
// starts at once; the keys' controller when all kinds are served.
func (c *MapController[P, S]) SetupWithManager(mgr manager.Manager, o Options) error {
	spec := c.withDefaults()
	served, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	creates, err := spec.newCreator(mgr)
	if err != nil {
		return err
	}
	m, err := spec.assemble(Parts{
		Client:    mgr.GetClient(),
		Live:      mgr.GetAPIReader(),
		Create:    creates.create,
		Scheme:    mgr.GetScheme(),
		Discovery: served,
	}, o)
	if err != nil {
		return err
	}
	if err := m.status.setup(mgr); err != nil {
		return fmt.Errorf("status controller: %w", err)
	}
	keys := &keysRunner[P, S]{
		router:   m.router,
		releaser: m.releaser,
		mgr:      mgr,
		wake:     m.status.wake.add,
		log:      mgr.GetLogger().WithName(spec.Name),
		warm:     make(chan struct{}),
	}
	if err := mgr.Add(warmUp(keys.warmCaches)); err != nil {
		return err
	}
	return mgr.Add(keys)
}

// warmUp runs whether or not this manager leads, so that one that takes over
// has its caches filled already.
type warmUp manager.RunnableFunc

// Start implements manager.Runnable.
func (w warmUp) Start(ctx context.Context) error { return w(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (w warmUp) NeedLeaderElection() bool { return false }

func (c *MapController[P, S]) withDefaults() *MapController[P, S] {
	spec := *c
	if spec.MapKey == nil {
		spec.MapKey = uidKey
	}
	spec.Outputs = slices.Clone(spec.Outputs)
	for i := range spec.Outputs {
		if spec.Outputs[i].Conditions == nil {
			spec.Outputs[i].Conditions = TrueConditions
		}
	}
	return &spec
}

func (s *statusWriter[P, S]) setup(mgr manager.Manager) error {
	// No predicate: what the cache shows of the status may differ from what was
	// worked out when the last write was compared with an older one.
	return builder.ControllerManagedBy(mgr).
		Named(s.Name + "-status").
		WithOptions(ctrl.Options{MaxConcurrentReconciles: statusWorkers}).
		For(s.NewParent()).
		WatchesRawSource(source.Func(s.wake.start)).
		Complete(s)
}

// keysRunner starts the keys' controller when all its kinds are served, and
// keeps an eye on them afterwards.
type keysRunner[P client.Object, S any] struct {
	router[P, S]
	releaser *releaser[P, S]
	mgr      manager.Manager
	wake     func(types.NamespacedName)
	log      logr.Logger
	queue    queue
	// warm is closed when all kinds are served and their caches are asked for.
	warm chan struct{}
}

func (k *keysRunner[P, S]) warmCaches(ctx context.Context) error {
	if !k.waitForKinds(ctx) {
		return nil
	}
	for _, in := range k.Inputs {
		if err := k.warmUp(ctx, in.Object, k.InputIndexers()); err != nil {
			return err
		}
	}
	for _, out := range k.Outputs {
		if err := k.warmUp(ctx, out.Object, k.OutputIndexers()); err != nil {
			return err
		}
	}
	close(k.warm)
	return nil
}

// warmUp asks for the informer of a kind, and indexes what it holds.
func (k *keysRunner[P, S]) warmUp(ctx context.Context, kind client.Object, indexers toolscache.Indexers) error {
	informer, err := k.mgr.GetCache().GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return informer.AddIndexers(indexers)
}

// sync waits until all kinds are in the cache: a parent's keys are looked up
// there when its event comes.
func (k *keysRunner[P, S]) sync(ctx context.Context) error {
	kinds := []client.Object{k.NewParent()}
	for _, in := range k.Inputs {
		kinds = append(kinds, in.Object)
	}
	for _, out := range k.Outputs {
		kinds = append(kinds, out.Object)
	}
	for _, kind := range kinds {
		if _, err := k.mgr.GetCache().GetInformer(ctx, kind); err != nil {
			return err
		}
	}
	return nil
}

// NeedLeaderElection holds the keys to the leader.
func (k *keysRunner[P, S]) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (k *keysRunner[P, S]) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-k.warm:
	}
	if err := k.sync(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the manager ends
		}
		return err
	}
	keys, err := k.newController()
	if err != nil {
		return err
	}
	released, err := k.newReleaser()
	if err != nil {
		return err
	}
	go k.watchKinds(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return released.Start(ctx) })
	g.Go(func() error { return keys.Start(ctx) })
	return g.Wait()
}

func (k *keysRunner[P, S]) newController() (ctrl.TypedController[Request], error) {
	log := k.mgr.GetLogger().WithValues("controller", k.Name)
	keys, err := ctrl.NewTypedUnmanaged(k.Name, ctrl.TypedOptions[Request]{
		Reconciler:              k.controller,
		MaxConcurrentReconciles: k.Workers,
		LogConstructor:          func(*Request) logr.Logger { return log },
		SkipNameValidation:      k.mgr.GetControllerOptions().SkipNameValidation,
	})
	if err != nil {
		return nil, err
	}
	watch := func(o client.Object, h handler.TypedEventHandler[client.Object, Request]) {
		// A controller that has not started only keeps the source.
		_ = keys.Watch(source.TypedKind(k.mgr.GetCache(), o, h))
	}
	watch(k.NewParent(), k.parents())
	for _, in := range k.Inputs {
		watch(in.Object, k.inputs(in))
	}
	for _, out := range k.Outputs {
		watch(out.Object, k.outputs(out))
	}
	return keys, keys.Watch(source.TypedFunc[Request](func(_ context.Context, q queue) error {
		k.queue = q
		return nil
	}))
}

func (k *keysRunner[P, S]) newReleaser() (ctrl.TypedController[Release], error) {
	r := k.releaser
	name := k.Name + "-release"
	c, err := ctrl.NewTypedUnmanaged(name, ctrl.TypedOptions[Release]{
		Reconciler:         r,
		LogConstructor:     func(*Release) logr.Logger { return k.mgr.GetLogger().WithValues("controller", name) },
		SkipNameValidation: k.mgr.GetControllerOptions().SkipNameValidation,
	})
	if err != nil {
		return nil, err
	}
	for kind, out := range k.Outputs {
		_ = c.Watch(source.TypedKind(k.mgr.GetCache(), out.Object, r.vanished(kind)))
	}
	return c, c.Watch(source.TypedFunc[Release](r.start))
}

// waitForKinds returns when all kinds are served, or false at the end.
func (k *keysRunner[P, S]) waitForKinds(ctx context.Context) bool {
	told := ""
	for {
		again := k.KindsInterval
		missing, err := k.kinds.look(ctx)
		switch {
		case err != nil:
			again = min(again, discoveryRetry)
			k.log.Error(err, "cannot tell which kinds are served; trying again", "in", again.String())
		case len(missing) == 0:
			if told != "" {
				k.log.Info("all kinds are served now")
			}
			return true
		case told != strings.Join(missing, ", "):
			told = strings.Join(missing, ", ")
			k.log.Info("waiting for kinds that are not installed", "missing", told, "lookingEvery", k.KindsInterval.String())
			k.wakeParents()
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}

// watchKinds looks again when a write found a kind gone: somebody deleted its
// definition. Informers come back by themselves, keys must be woken.
func (k *keysRunner[P, S]) watchKinds(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.kinds.suspect:
		}
		if missing, err := k.kinds.look(ctx); err == nil && len(missing) == 0 {
			continue
		}
		k.wakeParents()
		if !k.waitForKinds(ctx) {
			return
		}
		for _, parent := range k.wakeParents() {
			k.fanOut(ctx, k.queue, parent)
		}
	}
}

// wakeParents has every parent's status looked at, and returns the parents.
func (k *keysRunner[P, S]) wakeParents() []P {
	found := k.cache.allParents(k.NewParent())
	parents := make([]P, len(found))
	for i, o := range found {
		parents[i] = o.(P)
		k.wake(client.ObjectKeyFromObject(o))
	}
	return parents
}

var _ reconcile.TypedReconciler[Request] = (*controller[client.Object, struct{}])(nil)
