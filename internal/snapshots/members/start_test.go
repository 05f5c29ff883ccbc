// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// fakeCache has informers that have synced, or have not.
type fakeCache struct {
	cache.Cache
	cache.Informer

	synced bool
}

func (c fakeCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return c, nil
}

func (c fakeCache) AddEventHandler(toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return nil, nil
}
func (c fakeCache) AddIndexers(toolscache.Indexers) error { return nil }
func (c fakeCache) HasSynced() bool                       { return c.synced }
func (c fakeCache) WaitForCacheSync(context.Context) bool { return c.synced }
func (c fakeCache) Start(context.Context) error           { return nil }
func (c fakeCache) IndexField(context.Context, client.Object, string, client.IndexerFunc) error {
	return nil
}

// Until Start returns nil, group snapshots are missing to decisions: otherwise one would take members that no cache has for lost.
//
// Contract: GRP-3.
func TestStartFailsUntilTheMembersAreCached(t *testing.T) {
	for name, tc := range map[string]struct {
		cache   fakeCache
		err     error
		started int
	}{
		"they are":             {cache: fakeCache{synced: true}, started: 1},
		"no cache can be made": {err: errors.New("no such kind")},
		"they are not listed":  {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the time passes while nothing else is done
				m, started := newManager(newServer(t)), 0
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				err := m.Start(ctx, mapcontroller.Host{
					Cache:    fakeCache{synced: true},
					NewCache: func(cache.Options) (cache.Cache, error) { return tc.cache, tc.err },
					Objects: func(
						string, controller.TypedOptions[reconcile.Request], ...source.TypedSource[reconcile.Request],
					) (controller.TypedController[reconcile.Request], error) {
						started++
						return nil, nil
					},
				})
				if started != tc.started || (err == nil) != (tc.started > 0) {
					t.Errorf("started %d controllers, error %v", started, err)
				}
			})
		})
	}
}
