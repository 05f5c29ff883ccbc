// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stores holds the stores of a manager's informers. Reading them in place costs
// no copies, where the manager's client copies every object of every read. With
// client.UnsafeDisableDeepCopy it still copies each into the items of a list, which
// docs/contribute/results.md measures. And these copies are other objects at each read, while the
// engine tells objects apart by their pointers.
// Objects that are read from Stores are shared: they must never be changed.
type Stores struct {
	mu sync.RWMutex
	// byKind has one store per kind, or one for each watched namespace.
	byKind map[kind][]toolscache.Indexer
	onList []func(example runtime.Object, err error)
}

// kind is a Go type, and for types that hold any kind the GroupVersionKind.
type kind struct {
	goType reflect.Type
	gvk    schema.GroupVersionKind
}

func kindOf(o runtime.Object) kind {
	k := kind{goType: reflect.TypeOf(o)}
	if IsGeneric(o) {
		k.gvk = o.GetObjectKind().GroupVersionKind()
	}
	return k
}

// IsGeneric returns whether a Go type can hold objects of any kind, as
// Unstructured and PartialObjectMetadata can. Such objects carry their kind.
func IsGeneric(o runtime.Object) bool {
	_, isUnstructured := o.(runtime.Unstructured)
	_, isMetadata := o.(*metav1.PartialObjectMetadata)
	return isUnstructured || isMetadata
}

// NewStores returns the stores of one manager, without any kind. They must be
// given to the manager's cache (NewInformer) and to everything that reads them.
func NewStores() *Stores { return &Stores{byKind: map[kind][]toolscache.Indexer{}} }

// NewInformer is for cache.Options.NewInformer.
func (s *Stores) NewInformer(
	source toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	paged := &pages{
		ListerWatcherWithContext: toolscache.ToListerWatcherWithContext(source), listed: func(err error) { s.Listed(example, err) },
	}
	informer := toolscache.NewSharedIndexInformer(paged, example, resync, indexers)
	s.Add(example, informer.GetIndexer())
	return &pagedInformer{SharedIndexInformer: informer, pages: paged}
}

// OnList adds a function that is called with an example of a kind after each list of
// it, or with the error. Between the lists of one informer events may be missing.
func (s *Stores) OnList(do func(example runtime.Object, err error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onList = append(s.onList, do)
}

// Listed reports that all objects of a kind were listed, or why they could not be.
func (s *Stores) Listed(example runtime.Object, err error) {
	s.mu.RLock()
	onList := slices.Clone(s.onList)
	s.mu.RUnlock()
	for _, do := range onList {
		do(example, err)
	}
}

// Add registers a store that holds objects of the example's kind. A store whose
// objects are listed by namespace should be indexed by it (toolscache.NamespaceIndex).
func (s *Stores) Add(example runtime.Object, store toolscache.Indexer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := kindOf(example)
	s.byKind[k] = append(s.byKind[k], store)
}

func (s *Stores) stores(example runtime.Object) []toolscache.Indexer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byKind[kindOf(example)]
}

// Holds returns whether a kind has a store.
func (s *Stores) Holds(example runtime.Object) bool { return len(s.stores(example)) > 0 }

// Index finds objects by the values that a function computes for each of them.
type Index struct {
	Name   string
	Values func(client.Object) []string
}

// Indexers returns indexes in the form in which informers take them.
func Indexers(indexes ...Index) toolscache.Indexers {
	all := toolscache.Indexers{}
	for _, index := range indexes {
		all[index.Name] = func(o any) ([]string, error) { return index.Values(o.(client.Object)), nil }
	}
	return all
}

// AddIndex adds an index to the stores of a kind, which may be filled already. It cannot be removed again.
func (s *Stores) AddIndex(example client.Object, index Index) {
	for _, store := range s.stores(example) {
		_ = store.AddIndexers(Indexers(index)) // the error: it has the index
	}
}

// ByIndex appends the objects of a kind that an index holds under a value. A
// store without the index is searched instead, so that no caller has to handle
// an error by dropping an event.
func (s *Stores) ByIndex(all []client.Object, example client.Object, index Index, value string) []client.Object {
	for _, store := range s.stores(example) {
		found, err := store.ByIndex(index.Name, value)
		if err != nil {
			found = slices.DeleteFunc(store.List(), func(o any) bool { return !slices.Contains(index.Values(o.(client.Object)), value) })
		}
		all = appendObjects(all, found)
	}
	return all
}

func appendObjects(all []client.Object, found []any) []client.Object {
	all = slices.Grow(all, len(found))
	for _, o := range found {
		all = append(all, o.(client.Object))
	}
	return all
}

// byNamespace is the index that every informer of a manager has.
var byNamespace = Index{Name: toolscache.NamespaceIndex, Values: func(o client.Object) []string { return []string{o.GetNamespace()} }}

// List returns the objects of a kind in a namespace; in all of them if the
// namespace is empty.
func (s *Stores) List(example client.Object, namespace string) (all []client.Object) {
	if namespace != "" {
		return s.ByIndex(nil, example, byNamespace, namespace)
	}
	for _, store := range s.stores(example) {
		all = appendObjects(all, store.List())
	}
	return all
}

// Get returns the object of a name, or nil.
func (s *Stores) Get(example client.Object, name client.ObjectKey) client.Object {
	for _, store := range s.stores(example) {
		if o, ok, err := store.GetByKey(toolscache.ObjectName(name).String()); ok && err == nil {
			return o.(client.Object)
		}
	}
	return nil
}
