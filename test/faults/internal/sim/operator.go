// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/go-logr/logr"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim/kube"
)

// maxClockSkew is the operator's, as shipped.
const maxClockSkew = time.Minute

// operator is one process of the product: its engine, its caches, its queues and
// its clock. What it remembers ends with it.
type operator struct {
	world   *world
	number  int
	ctx     context.Context
	alive   bool
	machine *mapcontroller.Machine
	watches [3]*watch

	keys     *queue[mapcontroller.Request]
	status   *queue[reconcile.Request]
	releases *queue[mapcontroller.Release]
}

var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, snapshotv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// transforms are what the product's cache does to what it holds, by kind.
var transforms = productTransforms()

func productTransforms() (by [3]toolscache.TransformFunc) {
	o := snapshots.CacheOptions(snapshots.NewStores())
	for k := range by {
		by[k] = o.DefaultTransform
	}
	for kind, options := range o.ByObject {
		k, err := kube.KindOf(kind)
		if err != nil {
			panic(err)
		}
		by[k] = options.Transform
	}
	return by
}

// strip is an object as the cache holds it.
func (o *operator) strip(k kube.Kind, object client.Object) client.Object {
	stripped, err := transforms[k](object.DeepCopyObject())
	if err != nil {
		panic(err)
	}
	return stripped.(client.Object)
}

// start starts one more operator. How far each of its first lists is behind is
// for lag to say.
func (w *world) start(statusInterval time.Duration, lag func() int) *operator {
	o := &operator{world: w, number: w.clocks.processes, alive: true}
	w.clocks.processes++
	o.ctx = logf.IntoContext(context.Background(), logr.Discard())
	w.operators = append(w.operators, o)

	stores := snapshots.NewStores()
	claimIndexers, snapshotIndexers := snapshots.Indexers()
	for k, s := range map[kube.Kind]struct {
		object   client.Object
		indexers toolscache.Indexers
	}{
		kube.Schedules: {&v1alpha1.SnapshotSchedule{}, toolscache.Indexers{}},
		kube.Claims:    {&corev1.PersistentVolumeClaim{}, claimIndexers},
		kube.Snapshots: {&snapshotv1.VolumeSnapshot{}, snapshotIndexers},
	} {
		maps.Copy(s.indexers, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
		o.watches[k] = &watch{operator: o, kind: k, store: newIndex(s.indexers)}
		stores.Add(s.object, o.watches[k].store)
	}
	api := &apiClient{operator: o}
	machine, err := snapshots.Assemble(
		mapcontroller.Parts{Client: api, Live: api, Scheme: scheme, Discovery: served{}},
		recorder{},
		snapshots.Options{
			Workers:          1, // the engine's own goroutines, in turn
			StatusInterval:   statusInterval,
			DeletesPerSecond: 50,
			MaxClockSkew:     maxClockSkew,
			KindsInterval:    time.Minute,
			Clock:            operatorClock{o},
			Stores:           stores,
		})
	if err != nil {
		panic(fmt.Sprintf("assemble the product: %v", err))
	}
	o.machine = machine
	o.connect(lag)
	return o
}

// connect fills the caches, and then tells of what they hold and of all that
// comes.
func (o *operator) connect(lag func() int) {
	m := o.machine
	o.keys = newQueue(o, func(r mapcontroller.Request) (reconcile.Result, error) { return m.Keys.Reconcile(o.ctx, r) })
	o.status = newQueue(o, func(r reconcile.Request) (reconcile.Result, error) { return m.Status.Reconcile(o.ctx, r) })
	o.releases = newQueue(o, func(r mapcontroller.Release) (reconcile.Result, error) { return m.Releases.Reconcile(o.ctx, r) })

	parents := handlersOf(o.ctx, o.keys, m.Parents)
	wake := func(p client.Object) { o.status.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(p)}) }
	o.watches[kube.Schedules].handlers = handlers{
		created: func(p client.Object, initial bool) { wake(p); parents.created(p, initial) },
		updated: func(before, after client.Object) { wake(after); parents.updated(before, after) },
		deleted: func(p client.Object) { wake(p); parents.deleted(p) },
	}
	o.watches[kube.Claims].handlers = handlersOf(o.ctx, o.keys, m.Inputs[0])
	outputs, vanished := handlersOf(o.ctx, o.keys, m.Outputs[0]), handlersOf(o.ctx, o.releases, m.Vanished[0])
	o.watches[kube.Snapshots].handlers = handlers{
		created: func(s client.Object, initial bool) { outputs.created(s, initial); vanished.created(s, initial) },
		updated: func(before, after client.Object) { outputs.updated(before, after); vanished.updated(before, after) },
		deleted: func(s client.Object) { outputs.deleted(s); vanished.deleted(s) },
	}

	var first [3][]client.Object
	for k, t := range o.watches {
		first[k] = t.fill(lag())
	}
	must(m.StatusSource(o.ctx, tardy{o.status}))
	must(m.ReleaseSource(o.ctx, o.releases))
	for k, t := range o.watches {
		for _, object := range first[k] {
			t.handlers.created(object, true)
		}
		t.stir()
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func handlersOf[T comparable](ctx context.Context, q *queue[T], h handler.TypedEventHandler[client.Object, T]) handlers {
	return handlers{
		created: func(o client.Object, initial bool) {
			h.Create(ctx, event.TypedCreateEvent[client.Object]{Object: o, IsInInitialList: initial}, q)
		},
		updated: func(before, after client.Object) {
			h.Update(ctx, event.TypedUpdateEvent[client.Object]{ObjectOld: before, ObjectNew: after}, q)
		},
		deleted: func(o client.Object) { h.Delete(ctx, event.TypedDeleteEvent[client.Object]{Object: o}, q) },
	}
}

// die ends the process where it stands: what it still asks for is not heard.
func (o *operator) die() { o.alive = false }

// bury forgets the operators that are gone.
func (w *world) bury() {
	var alive []*operator
	for _, o := range w.operators {
		if o.alive {
			alive = append(alive, o)
		}
	}
	w.operators = alive
}

// operatorClock is the operator's own, which may be wrong.
type operatorClock struct{ *operator }

func (c operatorClock) Now() time.Time { return c.world.now.Add(c.world.clocks.operator) }

func (c operatorClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
