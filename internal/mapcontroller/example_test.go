// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"mapcontroller.dev/snapshotschedule/internal/informer"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// newMirror returns an empty Mirror, the parent. Its spec.selector selects
// ConfigMaps of its namespace. Each of them gets a copy, which follows it.
func newMirror() client.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Mirror"}}
}

// mirrors is the whole controller. A program adds it to its manager with
// mirrors.SetupWithManager(mgr, options).
var mirrors = mapcontroller.MapController{
	Name:      "mirror",
	Ownership: mapcontroller.Ownership{Tags: mapcontroller.Tags{MapKey: "example.com/source", Parent: "example.com/mirror"}},
	NewParent: newMirror,
	Inputs:    []mapcontroller.Input{{Object: &corev1.ConfigMap{}, Resource: "configmaps"}},
	Outputs: []mapcontroller.Output{{Object: &corev1.ConfigMap{}, Resource: "configmaps", Update: func(observed, desired client.Object) {
		observed.(*corev1.ConfigMap).Data = desired.(*corev1.ConfigMap).Data
	}}},
	Compile: func(mirror client.Object, _ ...client.Object) (mapcontroller.Program, error) {
		return mapcontroller.Program{Map: func(seen mapcontroller.Observation) mapcontroller.Decision {
			source := seen.Selected[0].(*corev1.ConfigMap)
			return mapcontroller.Decision{Ensure: []mapcontroller.Desired{{Object: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: mirror.GetName() + "-" + source.Name},
				Data:       source.Data,
			}}}}
		}}, nil
	},
}

// A Mirror copies a ConfigMap and follows its changes. Stores and a fake client
// take the place of a manager.
func Example() {
	ctx, mirror, source := context.Background(), newMirror(), &corev1.ConfigMap{}
	mirror.SetNamespace("default")
	mirror.SetName("m")
	mirror.SetUID("mirror")
	mirror.SetGeneration(1)
	source.Namespace, source.Name, source.UID = "default", "a", "source"
	api, stores := fake.NewClientBuilder().WithStatusSubresource(mirror).WithObjects(mirror, source).Build(), informer.NewStores()
	controller, err := mirrors.New(mapcontroller.Dependencies{
		Client: api, Live: api, Scheme: clientgoscheme.Scheme, Discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}},
	}, mapcontroller.Options{Clock: clock.RealClock{}, Stores: stores})
	must(err)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mapcontroller.Request]())
	index := func() toolscache.Indexer { return toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, nil) }
	parents, configMaps := index(), index()
	stores.Add(mirror, parents)
	stores.Add(source, configMaps)
	must(api.Get(ctx, client.ObjectKeyFromObject(mirror), mirror))
	must(parents.Add(mirror))
	must(configMaps.Add(source))
	controller.Watches()[0].Events.Create(ctx, event.TypedCreateEvent[client.Object]{Object: mirror}, queue)
	for _, color := range []string{"red", "blue"} {
		source.Data = map[string]string{"color": color}
		must(configMaps.Update(source.DeepCopy()))
		_, err := controller.Reconcile(ctx, mapcontroller.Request{Parent: client.ObjectKeyFromObject(mirror), MapKey: "source"})
		must(err)
		target := &corev1.ConfigMap{}
		must(api.Get(ctx, client.ObjectKey{Namespace: "default", Name: "m-a"}, target))
		fmt.Println(target.Name, target.Labels, target.Data)
		must(configMaps.Update(target))
		controller.Watches()[2].Events.Create(ctx, event.TypedCreateEvent[client.Object]{Object: target}, queue)
	}
	_, err = controller.Reconcile(ctx, mapcontroller.Request{Parent: client.ObjectKeyFromObject(mirror), MapKey: "source"})
	must(err)
	_, err = controller.Reconcile(ctx, mapcontroller.SearchAll) // which a manager's queue has at the start
	must(err)
	_, err = controller.ReconcileStatus(ctx, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mirror)})
	must(err)
	must(api.Get(ctx, client.ObjectKeyFromObject(mirror), mirror))
	fmt.Println(mirror.(*unstructured.Unstructured).Object["status"])
	// Output:
	// m-a map[example.com/mirror:m example.com/source:source] map[color:red]
	// m-a map[example.com/mirror:m example.com/source:source] map[color:blue]
	// map[inputs:map[configmaps:map[total:1]] observedGeneration:1 outputs:map[configmaps:map[total:1]]]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
