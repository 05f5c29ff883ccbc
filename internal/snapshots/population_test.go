// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/cached"
)

// population is a controller and its stores, which are filled as informers do:
// every object comes as JSON, goes through the transform and into the indexes.
type population struct {
	*mapcontroller.Controller

	related func(schedule client.Object, seen mapcontroller.Observation) []client.Object
	// calls are those that the controller made to the API server.
	calls                                 []string
	interner                              func(any) (any, error)
	schedules, claims, snapshots, classes toolscache.Indexer
}

func newPopulation(tb testing.TB) *population {
	tb.Helper()
	scheme := k8sruntime.NewScheme()
	must(tb, clientgoscheme.AddToScheme(scheme))
	must(tb, snapshotv1.AddToScheme(scheme))
	must(tb, groupv1.AddToScheme(scheme))
	must(tb, v1alpha1.AddToScheme(scheme))
	o := Options{Clock: clocktesting.NewFakePassiveClock(noon), Stores: NewStores()}
	p := &population{interner: cached.Snapshots()}
	apiServer := p.apiServer(scheme)
	var err error
	spec := MapController(o, events.NewFakeRecorder(10), 0)
	p.related = spec.Related.Objects
	p.Controller, err = spec.New(mapcontroller.Dependencies{
		Client: apiServer, Live: apiServer, Scheme: scheme, Discovery: &fakediscovery.FakeDiscovery{},
	}, o)
	must(tb, err)
	informers := CacheOptions(o.Stores)
	store := func(example client.Object, indexers ...toolscache.Indexers) toolscache.Indexer {
		all := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
		informer := informers.NewInformer(&toolscache.ListWatch{}, example, 0, all)
		for _, more := range indexers {
			must(tb, informer.AddIndexers(more))
		}
		return informer.GetIndexer()
	}
	p.schedules = store(&v1alpha1.SnapshotSchedule{})
	watches := p.Watches()
	p.claims = store(&corev1.PersistentVolumeClaim{}, watches[1].Indexers, Indexers())
	p.snapshots = store(&snapshotv1.VolumeSnapshot{}, watches[2].Indexers)
	p.classes = store(&snapshotv1.VolumeSnapshotClass{})
	return p
}

// apiServer returns a client of an empty API server that counts the calls that
// decide about snapshots.
func (p *population) apiServer(scheme *k8sruntime.Scheme) client.WithWatch {
	return fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			p.calls = append(p.calls, "create "+o.GetName())
			return c.Create(ctx, o, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			p.calls = append(p.calls, "get "+key.Name)
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			p.calls = append(p.calls, "list")
			return c.List(ctx, list, opts...)
		},
	}).Build()
}

// track reports every schedule to the controller as an informer does, and returns
// the keys that this enqueues.
func (p *population) track() (requests []mapcontroller.Request) {
	queue := newQueue()
	defer queue.ShutDown()
	for _, s := range p.schedules.List() {
		p.Watches()[0].Events.Create(context.Background(), event.TypedCreateEvent[client.Object]{Object: s.(client.Object)}, queue)
	}
	for queue.Len() > 0 {
		req, _ := queue.Get()
		queue.Done(req)
		requests = append(requests, req)
	}
	return requests
}

func newQueue() workqueue.TypedRateLimitingInterface[mapcontroller.Request] {
	return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mapcontroller.Request]())
}

// reconcile makes a pass over a key for which nothing is due.
func (p *population) reconcile(tb testing.TB, req mapcontroller.Request) {
	tb.Helper()
	result, err := p.Reconcile(context.Background(), req)
	if err != nil || result.RequeueAfter == 0 || len(p.calls) > 0 {
		tb.Fatalf("%v, %v, calls %v: want the key to be requeued without an error, and no calls", result, err, p.calls)
	}
}

// addClaims adds PVCs, with snapshots that a schedule took of them each hour.
func (p *population) addClaims(tb testing.TB, s scheduleBuilder, claims, snapshotsEach int) {
	tb.Helper()
	for i := range claims {
		c := nthClaim(i)
		must(tb, p.claims.Add(transformed(tb, stripClaim, c.PersistentVolumeClaim, &corev1.PersistentVolumeClaim{})))
		p.addSnapshots(tb, s, c, 0, snapshotsEach)
	}
}

func (p *population) addSnapshots(tb testing.TB, s scheduleBuilder, c claimBuilder, from, to int) {
	tb.Helper()
	for n := from; n < to; n++ {
		must(tb, p.snapshots.Add(transformed(tb, p.interner, taken(s, c, n), &snapshotv1.VolumeSnapshot{})))
	}
}

func nthClaim(i int) claimBuilder {
	c := claim(fmt.Sprintf("data-%d", i))
	c.UID = types.UID(fmt.Sprintf("6f1c3a52-0d7e-4b6a-9c55-%012d", i))
	return c
}

// taken is the nth newest snapshot of a PVC, with everything that a cluster
// writes on it.
func taken(s scheduleBuilder, c claimBuilder, n int) *snapshotv1.VolumeSnapshot {
	slot := noon.Add(-time.Duration(n) * time.Hour)
	v := snapshotOf(s, c, nil, slot)
	v.Namespace, v.ResourceVersion, v.Generation = c.Namespace, "1234567", 1
	v.UID = types.UID(fmt.Sprintf("%s-%06d", c.UID[:28], n))
	v.CreationTimestamp = metav1.NewTime(slot)
	v.Labels[v1alpha1.LabelMapKey], v.Labels[v1alpha1.LabelSchedule] = string(c.UID), s.Name
	v.Finalizers = []string{
		"snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
		"snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
	}
	v.OwnerReferences = []metav1.OwnerReference{s.ownerReference()}
	v.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: Name, Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{}}}`)},
		{Manager: "snapshot-controller", Operation: "Update", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
	}
	v.Status = &snapshotv1.VolumeSnapshotStatus{
		BoundVolumeSnapshotContentName: ptr.To("snapcontent-" + string(v.UID)),
		CreationTime:                   ptr.To(metav1.NewTime(slot.Add(time.Second))),
		ReadyToUse:                     ptr.To(true),
	}
	return v
}

func transformed[T any](tb testing.TB, transform toolscache.TransformFunc, o, empty T) T {
	tb.Helper()
	text, err := json.Marshal(o)
	must(tb, err)
	must(tb, json.Unmarshal(text, empty))
	stripped, err := transform(empty)
	must(tb, err)
	return stripped.(T)
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
