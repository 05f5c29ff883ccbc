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
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

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
	claims, err := informers.GetInformer(ctx, &corev1.PersistentVolumeClaim{}, cache.BlockUntilSynced(false))
	must(err)
	must(claims.AddIndexers(snapshots.Indexers()))
	o.running.Go(func() { _ = informers.Start(ctx) })
	engine, err := snapshots.MapController(options, &events.FakeRecorder{}, o.inFlight).SetupWith(mapcontroller.Host{
		Dependencies: mapcontroller.Dependencies{Client: api, Live: api, Scheme: cluster.Scheme, Discovery: allInstalled{}},
		Log:          logr.Discard(), Cache: informers, Objects: runsIn[reconcile.Request](ctx, o), Keys: runsIn[mapcontroller.Request](ctx, o),
		NewCache: func(other cache.Options) (cache.Cache, error) {
			other.HTTPClient, other.Scheme, other.Mapper = httpClient, cluster.Scheme, mapper
			return cache.New(config, other)
		},
	}, options)
	must(err)
	return engine.Start(ctx)
}

// runsIn runs controllers of one worker with the queue that a manager's have, but for its metrics.
func runsIn[R comparable](ctx context.Context, o *operator) mapcontroller.Runner[R] {
	return func(
		name string, options controller.TypedOptions[R], sources ...source.TypedSource[R],
	) (controller.TypedController[R], error) {
		options.MaxConcurrentReconciles, options.SkipNameValidation, options.CacheSyncTimeout = 1, new(true), 100*day
		options.LogConstructor = func(*R) logr.Logger { return logr.Discard() }
		options.NewQueue = func(_ string, limiter workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
			return priorityqueue.New("", func(o *priorityqueue.Opts[R]) { o.RateLimiter, o.Log = limiter, logr.Discard() })
		}
		c, err := controller.NewTypedUnmanaged(name, options)
		must(err)
		for _, from := range sources {
			must(c.Watch(from))
		}
		o.running.Go(func() { _ = c.Start(ctx) })
		return started[R]{c}, nil
	}
}

// started is a controller that is watched later. Until its first sources have synced, it holds a lock, on which whoever waits lets
// time stand still.
type started[R comparable] struct{ controller.TypedController[R] }

// Watch implements controller.TypedController.
func (s started[R]) Watch(from source.TypedSource[R]) error {
	time.Sleep(time.Second)
	return s.TypedController.Watch(from)
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
