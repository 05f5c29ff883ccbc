// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// syncedCache has informers that have synced.
type syncedCache struct{ cache.Cache }

func (syncedCache) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return syncedInformer{}, nil
}

type syncedInformer struct{ cache.Informer }

func (syncedInformer) HasSynced() bool                       { return true }
func (syncedInformer) AddIndexers(toolscache.Indexers) error { return nil }

// What decisions about optional kinds read beside the cache may not be there at once. Their events are handled once, all the same.
func TestPreparationIsRetriedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var prepared, watched atomic.Int32
		h := newHarness(t, nil, nil, func(c *MapController, _ *Options) {
			c.Related.Kinds = []Input{{Object: &corev1.ConfigMap{}, Optional: true}}
			c.Related.Prepare = func(context.Context, Host) error {
				if prepared.Add(1) < 4 {
					return errors.New("not yet")
				}
				return nil
			}
		})
		s := &starter{controller: h.Controller, host: Host{Cache: syncedCache{}}}
		h.installed.Want()
		s.awaitOptional(t.Context(), func(source.TypedSource[Request]) error { watched.Add(1); return nil })
		if missing := h.installed.MissingOptional(); prepared.Load() != 1 || len(missing) == 0 {
			t.Errorf("prepared %d times, missing %v", prepared.Load(), missing)
		}
		time.Sleep(time.Minute)
		if missing := h.installed.MissingOptional(); prepared.Load() != 4 || watched.Load() != 1 || len(missing) > 0 {
			t.Errorf("prepared %d times, watched %d kinds, missing %v", prepared.Load(), watched.Load(), missing)
		}
	})
}
