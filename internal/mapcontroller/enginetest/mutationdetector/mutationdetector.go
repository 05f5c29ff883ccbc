// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutationdetector makes a test suite panic when a cached object is changed.
package mutationdetector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	_ "mapcontroller.dev/snapshotschedule/internal/mapcontroller/enginetest/mutationdetector/enable" // before client-go
)

// period is a little longer than client-go's interval between two comparisons.
const period = 1100 * time.Millisecond

// NewCache is for manager.Options.NewCache. Its informers stop one period after the manager, so that every change is detected.
func NewCache(config *rest.Config, options cache.Options) (cache.Cache, error) {
	if detector := fmt.Sprintf("%T", toolscache.NewCacheMutationDetector("")); strings.Contains(detector, "dummy") {
		return nil, errors.New("the cache mutation detector is not enabled: client-go was initialized too early")
	}
	c, err := cache.New(config, options)
	return lingeringCache{c}, err
}

// Wait waits until every change is detected that a stopped manager made. Call it at the end of the suite.
func Wait() { time.Sleep(period) }

type lingeringCache struct{ cache.Cache }

// Start implements cache.Cache.
func (c lingeringCache) Start(ctx context.Context) error {
	lingering, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- c.Cache.Start(lingering) }()
	select {
	case err := <-ended:
		stop()
		return err
	case <-ctx.Done():
		time.AfterFunc(period, stop)
		return nil
	}
}
