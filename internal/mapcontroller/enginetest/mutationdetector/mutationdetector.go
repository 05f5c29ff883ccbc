// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutationdetector makes a test suite panic when a cached object is changed.
package mutationdetector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	_ "mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector/enable" // before client-go
)

// period is a little longer than client-go's interval between two comparisons.
const period = 1100 * time.Millisecond

// NewCache is for manager.Options.NewCache. Its informers stop one period after the manager, so that every change is detected.
// Until then they handle events: where that can be seen, as in metrics of the process, a test must Wait for those before it.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	if detector := fmt.Sprintf("%T", toolscache.NewCacheMutationDetector("")); strings.Contains(detector, "dummy") {
		return nil, errors.New("the cache mutation detector is not enabled: client-go was initialized too early")
	}
	c, err := cache.New(config, options)
	return lingeringCache{c}, err
}

// lingering are the caches of managers that have stopped.
var lingering sync.WaitGroup

// Wait waits until the informers of all stopped managers have stopped, so that every change is detected that those managers
// made. Call it at the end of the suite.
func Wait() { lingering.Wait() }

type lingeringCache struct{ cache.Cache }

// Start implements cache.Cache.
func (c lingeringCache) Start(ctx context.Context) error {
	longer, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- c.Cache.Start(longer) }()
	select {
	case err := <-ended:
		stop()
		return err
	case <-ctx.Done():
		lingering.Go(func() {
			time.Sleep(period)
			stop()
			if err := <-ended; err != nil {
				panic(err)
			}
		})
		return nil
	}
}
