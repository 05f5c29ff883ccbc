// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// Stores are what the informers of a manager hold. The engine reads them where
// they lie: a key's outputs are found by index and given on as they are, where
// the manager's cache would copy every one of them for every look.
type Stores struct {
	mu sync.RWMutex
	// of has one store of a kind, or one for each namespace that is watched.
	of map[reflect.Type][]toolscache.Indexer
}

// NewStores returns what is to be given to both the cache and the engine of a
// manager.
func NewStores() *Stores { return &Stores{of: map[reflect.Type][]toolscache.Indexer{}} }

// NewInformer is for cache.Options.NewInformer.
func (s *Stores) NewInformer(
	source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	paged := &pages{source: toolscache.ToListerWatcherWithContext(source)}
	informer := toolscache.NewSharedIndexInformer(paged, kind, resync, indexers)
	s.Add(kind, informer.GetIndexer())
	return &pagedInformer{SharedIndexInformer: informer, pages: paged}
}

// Add makes a store known that holds objects of a kind, indexed by namespace.
func (s *Stores) Add(kind runtime.Object, store toolscache.Indexer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[reflect.TypeOf(kind)] = append(s.of[reflect.TypeOf(kind)], store)
}

func (s *Stores) stores(kind runtime.Object) []toolscache.Indexer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.of[reflect.TypeOf(kind)]
}

// ByIndex returns the objects of a kind that an index has under a value. They
// are shared with the cache: they must never be changed.
func ByIndex[T runtime.Object](s *Stores, kind T, index, value string) ([]T, error) {
	var all []T
	for _, store := range s.stores(kind) {
		found, err := store.ByIndex(index, value)
		if err != nil {
			return nil, err
		}
		if all == nil && len(found) > 0 {
			all = make([]T, 0, len(found)+1)
		}
		for _, o := range found {
			all = append(all, o.(T))
		}
	}
	return all, nil
}
