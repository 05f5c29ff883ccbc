// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	productinformer "mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/transport"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// This file is the only one that uses the engine's API.

// maxClockSkew is the operator's flag, as shipped.
const maxClockSkew = time.Minute

// operator is one process of the product: its engine, informers, queues and clock. Its memory ends with it.
type operator struct {
	sim       *simulation
	number    int
	ctx       context.Context
	alive     bool
	engine    *mapcontroller.Controller
	informers [3]*informer
	stores    *productinformer.Stores

	// decidedOn is what the caches held when the current reconcile began: it reads them once, at its start.
	decidedOn *history.Cache

	keys   *queue[mapcontroller.Request]
	status *queue[reconcile.Request]
}

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, snapshotv1.AddToScheme, v1alpha1.AddToScheme} {
		must(add(s))
	}
	return s
}

// transforms are the product's cache transforms, by kind.
var transforms = productTransforms()

func productTransforms() (by [3]toolscache.TransformFunc) {
	o := snapshots.CacheOptions(snapshots.NewStores())
	for k := range by {
		by[k] = o.DefaultTransform
	}
	for kind, options := range o.ByObject {
		if k, err := kube.KindOf(kind); err == nil { // no VolumeSnapshotClass exists here
			by[k] = options.Transform
		}
	}
	return by
}

// transform returns an object as the product's cache holds it.
func (o *operator) transform(k kube.Kind, object client.Object) client.Object {
	transformed, err := transforms[k](object.DeepCopyObject())
	must(err)
	return transformed.(client.Object)
}

// start starts an operator. listLag returns by how many changes each initial list is behind.
func (sim *simulation) start(statusInterval time.Duration, listLag func() int) *operator {
	o := &operator{sim: sim, number: sim.clocks.processes, alive: true}
	sim.clocks.processes++
	o.ctx = logf.IntoContext(context.Background(), logr.Discard())
	sim.operators = append(sim.operators, o)

	api := &apiClient{operator: o}
	stores := snapshots.NewStores()
	options := snapshots.Options{
		Workers:          1,
		StatusInterval:   statusInterval,
		DeletesPerSecond: 50,
		MaxClockSkew:     maxClockSkew,
		Clock:            operatorClock{o},
		Stores:           stores,
	}
	o.stores = stores
	var err error
	o.engine, err = snapshots.MapController(options, noEvents{}, 0).New(
		mapcontroller.Dependencies{Client: api, Live: api, Scheme: scheme, Discovery: allInstalled{}}, options)
	must(err)
	for k, s := range map[kube.Kind]struct {
		object   client.Object
		indexers []toolscache.Indexers
	}{
		kube.Schedules: {&v1alpha1.SnapshotSchedule{}, nil},
		kube.Claims:    {&corev1.PersistentVolumeClaim{}, []toolscache.Indexers{o.engine.InputIndexers(), snapshots.Indexers()}},
		kube.Snapshots: {&snapshotv1.VolumeSnapshot{}, []toolscache.Indexers{o.engine.OutputIndexers()}},
	} {
		all := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
		for _, indexers := range s.indexers {
			maps.Copy(all, indexers)
		}
		o.informers[k] = &informer{operator: o, kind: k, example: s.object, store: newIndex(all)}
		stores.Add(s.object, o.informers[k].store)
	}
	o.connect(listLag)
	return o
}

// connect wires informers and queues to the engine, fills the caches, and delivers the initial lists and all events from then on.
func (o *operator) connect(listLag func() int) {
	c := o.engine
	o.keys = newQueue(o, c)
	o.keys.limiter = c.Limiter()
	o.status = newQueue(o, reconcile.TypedReconciler[reconcile.Request](reconcile.Func(c.ReconcileStatus)))

	wakeStatus := func(p client.Object) { o.status.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)}) }
	o.informers[kube.Schedules].handlers = both(
		handlers{
			onCreate: func(p client.Object, _ bool) { wakeStatus(p) },
			onUpdate: func(_, after client.Object) { wakeStatus(after) },
			onDelete: wakeStatus,
		},
		handlersOf(o.ctx, o.keys, c.ParentEvents()))
	o.informers[kube.Claims].handlers = handlersOf(o.ctx, o.keys, c.InputEvents(0))
	o.informers[kube.Snapshots].handlers = handlersOf(o.ctx, o.keys, c.OutputEvents(0))

	var initial [3][]client.Object
	for k, i := range o.informers {
		initial[k] = i.fill(listLag())
	}
	must(c.StatusSource(o.ctx, delayedQueue{o.status}))
	must(c.KeySource(o.ctx, o.keys))
	for k, i := range o.informers {
		for _, object := range initial[k] {
			i.handlers.onCreate(object, true)
		}
		i.wake()
	}
}

// withServerClock wraps a transport in the product's, which reads the API server's clock off the answers.
func (o *operator) withServerClock(base http.RoundTripper) http.RoundTripper {
	return transport.ServerClock{Clock: operatorClock{o}, Base: base}
}

func handlersOf[T comparable](ctx context.Context, q *queue[T], h handler.TypedEventHandler[client.Object, T]) handlers {
	return handlers{
		onCreate: func(o client.Object, initial bool) {
			h.Create(ctx, event.TypedCreateEvent[client.Object]{Object: o, IsInInitialList: initial}, q)
		},
		onUpdate: func(before, after client.Object) {
			h.Update(ctx, event.TypedUpdateEvent[client.Object]{ObjectOld: before, ObjectNew: after}, q)
		},
		onDelete: func(o client.Object) { h.Delete(ctx, event.TypedDeleteEvent[client.Object]{Object: o}, q) },
	}
}

// both calls the first handlers, then the second.
func both(a, b handlers) handlers {
	return handlers{
		onCreate: func(o client.Object, initial bool) { a.onCreate(o, initial); b.onCreate(o, initial) },
		onUpdate: func(before, after client.Object) { a.onUpdate(before, after); b.onUpdate(before, after) },
		onDelete: func(o client.Object) { a.onDelete(o); b.onDelete(o) },
	}
}

// caches returns what the informers have delivered.
func (o *operator) caches() *history.Cache {
	shown := func(k kube.Kind) int {
		i := o.informers[k]
		if i.delivered == 0 {
			return 0
		}
		return o.sim.changes[k][i.delivered-1] + 1
	}
	return &history.Cache{Schedules: shown(kube.Schedules), Claims: shown(kube.Claims), Snapshots: shown(kube.Snapshots)}
}

// kill ends the process: answers to its pending requests are lost.
func (o *operator) kill() { o.alive = false }

// operatorClock is the operator's own clock, which may be wrong.
type operatorClock struct{ *operator }

func (c operatorClock) Now() time.Time { return c.sim.now.Add(c.sim.clocks.operator) }

func (c operatorClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// allInstalled is a discovery client to which all kinds are installed.
type allInstalled struct {
	discovery.ServerResourcesInterface // nil: the engine asks for one group and version at a time
}

// ServerResourcesForGroupVersion implements discovery.ServerResourcesInterface.
func (allInstalled) ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error) {
	resources := map[string][]metav1.APIResource{
		"v1":                                   {{Kind: "PersistentVolumeClaim"}},
		snapshotv1.SchemeGroupVersion.String(): {{Kind: "VolumeSnapshot"}, {Kind: "VolumeSnapshotClass"}},
	}
	return &metav1.APIResourceList{GroupVersion: groupVersion, APIResources: resources[groupVersion]}, nil
}

// noEvents drops events: the product sends them from goroutines of their own.
type noEvents struct{}

// Eventf implements events.EventRecorder.
func (noEvents) Eventf(_, _ runtime.Object, _, _, _, _ string, _ ...any) {}
