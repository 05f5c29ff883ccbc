// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var byApp = Index{Name: "app", Values: func(o client.Object) []string { return []string{o.GetLabels()["app"]} }}

func newStore(indexers toolscache.Indexers, objects ...client.Object) toolscache.Indexer {
	indexers[toolscache.NamespaceIndex] = toolscache.MetaNamespaceIndexFunc
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, indexers)
	for _, o := range objects {
		if err := store.Add(o); err != nil {
			panic(err)
		}
	}
	return store
}

func secret(namespace, name, app string) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
}

func names(objects []client.Object) []string {
	all := []string{}
	for _, o := range objects {
		all = append(all, o.GetNamespace()+"/"+o.GetName())
	}
	slices.Sort(all)
	return all
}

// A store without an index is searched: a manager's cache may have been filled
// before the index was added.
func TestStoresByIndex(t *testing.T) {
	for name, indexers := range map[string]toolscache.Indexers{"with the index": Indexers(byApp), "without the index": {}} {
		t.Run(name, func(t *testing.T) {
			stores := NewStores()
			// A cache that is restricted to namespaces has one informer for each.
			stores.Add(&corev1.Secret{}, newStore(indexers, secret("one", "a", "x"), secret("one", "b", "y")))
			stores.Add(&corev1.Secret{}, newStore(indexers, secret("two", "a", "x")))
			for value, want := range map[string][]string{"x": {"one/a", "two/a"}, "y": {"one/b"}, "z": {}} {
				if got := names(stores.ByIndex(nil, &corev1.Secret{}, byApp, value)); !slices.Equal(got, want) {
					t.Errorf("%s: got %v, want %v", value, got, want)
				}
			}
			for namespace, want := range map[string][]string{"": {"one/a", "one/b", "two/a"}, "one": {"one/a", "one/b"}, "other": {}} {
				if got := names(stores.List(&corev1.Secret{}, namespace)); !slices.Equal(got, want) {
					t.Errorf("namespace %q: got %v, want %v", namespace, got, want)
				}
			}
			if got := stores.Get(&corev1.Secret{}, client.ObjectKey{Namespace: "two", Name: "a"}); got == nil || got.GetNamespace() != "two" {
				t.Errorf("got %v", got)
			}
			if got := stores.Get(&corev1.Secret{}, client.ObjectKey{Namespace: "two", Name: "b"}); got != nil {
				t.Errorf("got %v", got)
			}
			if got := stores.List(&corev1.Pod{}, ""); len(got) > 0 || stores.Get(&corev1.Pod{}, client.ObjectKey{Name: "a"}) != nil {
				t.Errorf("a kind that is not held: %v", got)
			}
		})
	}
}

// Kinds that share a Go type are kept apart.
func TestStoresKeepGenericKindsApart(t *testing.T) {
	object := func(kind string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("example.com/v1")
		u.SetKind(kind)
		return u
	}
	metadata := func(kind string) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(object(kind).GroupVersionKind())
		return m
	}
	examples := []client.Object{object("Red"), object("Blue"), metadata("Red"), metadata("Blue"), &corev1.Secret{}}
	stores := NewStores()
	for i, example := range examples {
		o := example.DeepCopyObject().(client.Object)
		o.SetName(string(rune('a' + i)))
		stores.Add(example, newStore(toolscache.Indexers{}, o))
	}
	for i, example := range examples {
		if got := names(stores.List(example, "")); !slices.Equal(got, []string{"/" + string(rune('a'+i))}) {
			t.Errorf("%d: got %v", i, got)
		}
	}
}

func TestReadingStoresCostsNoCopies(t *testing.T) {
	stores := NewStores()
	original := secret("one", "a", "x")
	stores.Add(&corev1.Secret{}, newStore(Indexers(byApp), original))
	if got := stores.ByIndex(nil, &corev1.Secret{}, byApp, "x"); len(got) != 1 || got[0] != original {
		t.Errorf("got %v", got)
	}
	if n := testing.AllocsPerRun(100, func() { stores.ByIndex(nil, &corev1.Secret{}, byApp, "z") }); n > 1 {
		t.Errorf("%v allocations for a value without objects", n)
	}
}
