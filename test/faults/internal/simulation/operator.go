// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/transport"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// maxClockSkew is the operator's flag, as shipped.
const maxClockSkew = time.Minute

// operator is one process of the product. Its memory ends with it.
type operator struct {
	*world
	started time.Time
	// alive ends with its network: what the API server has received it does, and nothing is delivered any more.
	alive    context.Context
	cut, end context.CancelFunc
	// busy counts the requests that are on their way, other than watches.
	busy int
	// reads are the times at which it last read an object, other than by its informers.
	reads map[string]time.Time
	view
}

// start starts an operator.
func (w *world) start() *operator {
	o := &operator{world: w, started: time.Now(), reads: map[string]time.Time{}}
	ctx, end := context.WithCancel(logf.IntoContext(context.Background(), logr.Discard()))
	o.end = end
	o.alive, o.cut = context.WithCancel(context.Background())
	w.operators = append(w.operators, o)
	w.starts++
	w.running.Go(func() {
		defer end()
		if err := o.run(ctx); err != nil && ctx.Err() == nil {
			panic(err)
		}
	})
	return o
}

// kill breaks the connections of an operator before it knows that it ends, so that it cannot do more.
func (o *operator) kill() {
	o.cut()
	o.end()
}

// crash kills an operator and starts it again later.
func (o *operator) crash() {
	if o.alive.Err() != nil {
		return
	}
	o.kill()
	down := between(o.rand, time.Second, time.Minute)
	if oneIn(o.rand, 20) {
		down = between(o.rand, time.Hour, 30*time.Hour)
	}
	o.after(down, o.restart)
}

// restart starts an operator if none runs.
func (w *world) restart() {
	w.operators = slices.DeleteFunc(w.operators, func(o *operator) bool { return o.alive.Err() != nil })
	if len(w.operators) == 0 {
		w.start()
	}
}

// run runs the product's controller with its queue, informers and clients until the context ends. The manager is left out: its queues
// measure themselves twice a second, and its events are sent from goroutines of their own.
func (o *operator) run(ctx context.Context) error {
	config := &rest.Config{Host: "http://simulated.invalid", Transport: o}
	clock := operatorClock{o.world}
	snapshots.Configure(config, clock)
	httpClient, err := rest.HTTPClientFor(config)
	must(err)
	stores, mapper := snapshots.NewStores(), newMapper()
	cacheOptions := snapshots.CacheOptions(stores)
	cacheOptions.HTTPClient, cacheOptions.Scheme, cacheOptions.Mapper = httpClient, cluster.Scheme, mapper
	informers, err := cache.New(config, cacheOptions)
	must(err)
	api, err := transport.NewClient(config, client.Options{HTTPClient: httpClient, Scheme: cluster.Scheme, Mapper: mapper})
	must(err)
	options := snapshots.Options{
		// One: two workers that share a live read would wait for each other on a lock, and time would stand still.
		Workers: 1, StatusInterval: o.statusInterval, DeletesPerSecond: 50, MaxClockSkew: maxClockSkew, Clock: clock, Stores: stores,
	}
	engine, err := snapshots.MapController(options, &events.FakeRecorder{}, o.inFlight).New(
		mapcontroller.Dependencies{Client: api, Live: api, Scheme: cluster.Scheme, Discovery: allInstalled{}}, options)
	must(err)
	informer := func(o client.Object, indexers ...toolscache.Indexers) cache.Informer {
		i, err := informers.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		must(err)
		for _, all := range indexers {
			must(i.AddIndexers(all))
		}
		return i
	}
	parents := informer(&v1alpha1.SnapshotSchedule{})
	informer(&corev1.PersistentVolumeClaim{}, snapshots.Indexers())
	watches, needed := engine.Watches(), []mapcontroller.Watch{}
	for _, watch := range watches.All() {
		if !watch.Optional && !watch.Live { // a live kind is not served here
			informer(watch.Object, watch.Indexers)
			needed = append(needed, watch)
		}
	}
	o.running.Go(func() { _ = informers.Start(ctx) })

	status := newController(reconcile.TypedReconciler[reconcile.Request](reconcile.Func(engine.ReconcileStatus)), nil)
	must(status.Watch(&source.Informer{Informer: parents, Handler: &handler.EnqueueRequestForObject{}}))
	must(status.Watch(source.Func(engine.StatusSource)))
	o.running.Go(func() { _ = status.Start(ctx) })
	if !informers.WaitForCacheSync(ctx) {
		return ctx.Err()
	}
	keys := newController[mapcontroller.Request](engine, engine.Limiter())
	must(keys.Watch(source.TypedFunc[mapcontroller.Request](engine.KeySource)))
	for _, watch := range needed {
		must(keys.Watch(source.TypedKind(informers, watch.Object, watch.Events)))
	}
	newCache := func(other cache.Options) (cache.Cache, error) {
		other.HTTPClient, other.Scheme, other.Mapper = httpClient, cluster.Scheme, mapper
		return cache.New(config, other)
	}
	must(engine.WatchOptional(ctx, informers, newCache, keys.Watch))
	return keys.Start(ctx)
}

// newController returns a controller with the queue that a manager's has, but for its metrics.
func newController[R comparable](
	reconciler reconcile.TypedReconciler[R], limiter workqueue.TypedRateLimiter[R],
) controller.TypedController[R] {
	c, err := controller.NewTypedUnmanaged("simulated", controller.TypedOptions[R]{
		Reconciler: reconciler, RateLimiter: limiter, MaxConcurrentReconciles: 1, SkipNameValidation: new(true), CacheSyncTimeout: 100 * day,
		LogConstructor: func(*R) logr.Logger { return logr.Discard() },
		NewQueue: func(_ string, limiter workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
			return priorityqueue.New("", func(o *priorityqueue.Opts[R]) { o.RateLimiter, o.Log = limiter, logr.Discard() })
		},
	})
	must(err)
	return c
}

// newMapper returns a mapper that need not ask.
func newMapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	for k := range kube.Kinds {
		m.Add(k.GroupVersionKind(), map[bool]meta.RESTScope{false: meta.RESTScopeNamespace, true: meta.RESTScopeRoot}[k.IsClass()])
	}
	return m
}

// allInstalled is a discovery client to which all kinds are installed, except ClusterSnapshotSchedules.
type allInstalled struct {
	discovery.ServerResourcesInterface // nil: the engine asks for one group and version at a time
}

// ServerResourcesForGroupVersion implements discovery.ServerResourcesInterface.
func (allInstalled) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	list := &metav1.APIResourceList{GroupVersion: groupVersion}
	for k := range kube.Kinds {
		if gvk := k.GroupVersionKind(); gvk.GroupVersion().String() == groupVersion {
			list.APIResources = append(list.APIResources, metav1.APIResource{Kind: gvk.Kind})
		}
	}
	return list, nil
}
