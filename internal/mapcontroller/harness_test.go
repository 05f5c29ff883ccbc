// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"maps"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// The tests of this package map Secrets to Pods; the parent is a ConfigMap,
// whose data are labels to select by.
type (
	testController = controller[*corev1.ConfigMap, string]
	testEngine     = MapController[*corev1.ConfigMap, string]
	testRequest    = MapRequest[*corev1.ConfigMap]
	testResult     = Result[string]
)

var (
	testTags = Tags{MapKey: "test/key", Parent: "test/parent"}
	testKey  = Request{Parent: types.NamespacedName{Namespace: "ns", Name: "p"}, MapKey: "in-uid"}
	testNow  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

// bench holds a controller between two API servers: the one that the cache
// shows and the one that there is.
type bench struct {
	*testController
	clock *clocktesting.FakePassiveClock
	// real is what the API server holds.
	real client.Client
	// serverTime is what live reads are stamped with.
	serverTime func() time.Time
}

// clockedReader stamps reads as the API server does.
type clockedReader struct {
	client.Reader
	now func() time.Time
	at  func() time.Time
}

func (r clockedReader) stamp(ctx context.Context) {
	if s, ok := ctx.Value(skewKey{}).(*skew); ok {
		s.observe(r.now(), r.now(), r.at().UTC().Format(http.TimeFormat))
	}
}

func (r clockedReader) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	r.stamp(ctx)
	return r.Reader.Get(ctx, key, o, opts...)
}

func (r clockedReader) List(ctx context.Context, l client.ObjectList, opts ...client.ListOption) error {
	r.stamp(ctx)
	return r.Reader.List(ctx, l, opts...)
}

func newBench(t testing.TB, shown, there []client.Object) *bench {
	t.Helper()
	engine := testSpec().withDefaults()
	server := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme)
	for _, o := range there {
		server.WithObjects(o.DeepCopyObject().(client.Object))
	}
	b := &bench{clock: clocktesting.NewFakePassiveClock(testNow), real: server.Build()}
	b.serverTime = b.clock.Now
	live := clockedReader{Reader: b.real, now: b.clock.Now, at: func() time.Time { return b.serverTime() }}
	b.testController = &testController{
		MapController: engine,
		Options:       Options{Workers: 1, MaxClockSkew: time.Minute, Clock: b.clock},
		cache:         view{Stores: testStores(engine, shown), indexes: indexesOf(engine.Name)},
		client:        b.real,
		create:        func(ctx context.Context, o client.Object) error { return b.client.Create(ctx, o) },
		live:          live,
		scheme:        clientgoscheme.Scheme,
		kinds:         &servedKinds{suspect: make(chan struct{}, 1)},
		fresh:         &freshParents[*corev1.ConfigMap]{live: live, clock: b.clock, empty: engine.NewParent},
		ledger:        newLedger(engine.Merge, func(types.NamespacedName) {}),
		expectations:  newExpectations(b.clock),
		pace:          newPace(0),
		retries:       newRetries(),
		deletes:       newRetries(),
		deleted:       lru.New(deletedRemembered),
	}
	return b
}

// testStores hold the fake client's copies: it fills in what a server would.
func testStores(engine *testEngine, shown []client.Object) *Stores {
	secrets, pods := engine.InputIndexers(), engine.OutputIndexers()
	byNamespace := toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
	stores := NewStores()
	held := map[reflect.Type]toolscache.Indexer{}
	for kind, indexers := range map[client.Object]toolscache.Indexers{
		&corev1.ConfigMap{}: {}, &corev1.Secret{}: secrets, &corev1.Pod{}: pods,
	} {
		maps.Copy(indexers, byNamespace)
		store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
		stores.Add(kind, store)
		held[reflect.TypeOf(kind)] = store
	}
	for _, o := range shown {
		o = o.DeepCopyObject().(client.Object)
		if o.GetResourceVersion() == "" {
			o.SetResourceVersion("999") // as the fake client has it
		}
		if err := held[reflect.TypeOf(o)].Add(o); err != nil {
			panic(err)
		}
	}
	return stores
}

// testSpec maps a Secret to one Pod of its name and keeps no tombstones.
func testSpec() *testEngine {
	return &testEngine{
		Name:      "test",
		Tags:      testTags,
		NewParent: func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
		Inputs:    []Input{{Object: &corev1.Secret{}, Resource: "secrets"}},
		Outputs:   []Output{{Object: &corev1.Pod{}, Resource: "pods"}},
		Select: func(p *corev1.ConfigMap) (labels.Selector, error) {
			return labels.SelectorFromSet(p.Data), nil
		},
		Map: func(r testRequest) testResult {
			return testResult{Outputs: []client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: r.Input.GetName()}}}}
		},
		Merge:  func(a, b string) string { return a + b },
		Status: func(time.Time, *corev1.ConfigMap, Situation[string]) {},
	}
}

func (b *bench) writer(parent *corev1.ConfigMap) *writer[*corev1.ConfigMap, string] {
	return &writer[*corev1.ConfigMap, string]{controller: b.testController, req: testKey, parent: parent, log: logr.Discard()}
}

func testParent(change ...func(*corev1.ConfigMap)) *corev1.ConfigMap {
	p := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "p-uid", Generation: 1},
		Data:       map[string]string{"app": "a"},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func testInput(change ...func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "in", UID: "in-uid", Labels: map[string]string{"app": "a"},
	}}
	for _, f := range change {
		f(s)
	}
	return s
}

func testOutput(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name + "-uid"),
		Labels:          map[string]string{testTags.MapKey: testKey.MapKey, testTags.Parent: "p"},
		OwnerReferences: []metav1.OwnerReference{ownedBy("p", "p-uid")},
	}}
	for _, f := range change {
		f(o)
	}
	return o
}

func ownedBy(name string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: uid, Controller: new(true)}
}

func (b *bench) reconcile(t *testing.T) time.Duration {
	t.Helper()
	result, err := b.Reconcile(context.Background(), testKey)
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// pods returns the names of the outputs that the API server holds.
func (b *bench) pods(t *testing.T) []string {
	t.Helper()
	var list corev1.PodList
	if err := b.real.List(context.Background(), &list); err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, o := range list.Items {
		all = append(all, o.Name)
	}
	return all
}
