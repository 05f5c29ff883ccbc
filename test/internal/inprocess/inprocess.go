// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess runs the operator in the process of a test, wired as in cmd.
package inprocess

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"mapcontroller.dev/snapshotschedule/internal/clusterschedules"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
	"mapcontroller.dev/snapshotschedule/internal/transport"
	"mapcontroller.dev/snapshotschedule/test/internal/cluster"
)

// Options are the operator's flags, and what tests set beside them.
type Options struct {
	Workers, MaxInFlight         int
	DeletesPerSecond             float64
	StatusInterval, MaxClockSkew time.Duration
	// KindsInterval is how often a kind that is not installed is looked for.
	KindsInterval time.Duration
	Clock         clock.PassiveClock
	// Metrics and ClusterMetrics are new ones unless they are set.
	Metrics        *metrics.Metrics
	ClusterMetrics *clusterschedules.Metrics
}

// New returns a manager with the operator's controllers, for the API server of a config. The manager's
// options say the rest: metrics, probes, leader election, and the namespaces of a cache that has fewer than the roles allow.
func New(ctx context.Context, config *rest.Config, o Options, m ctrl.Options) (ctrl.Manager, error) {
	config = rest.CopyConfig(config)
	snapshots.Configure(config, o.Clock)
	stores := snapshots.NewStores()
	m.Scheme, m.MapperProvider, m.NewClient = cluster.Scheme, snapshots.RESTMapper, transport.NewClient
	only := m.Cache.DefaultNamespaces
	m.Cache = snapshots.CacheOptions(stores)
	if only != nil {
		m.Cache.DefaultNamespaces = only
	}
	clusterschedules.AddToCache(&m.Cache)
	mgr, err := ctrl.NewManager(config, m)
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	options := snapshots.Options{
		Workers: o.Workers, StatusInterval: o.StatusInterval, DeletesPerSecond: o.DeletesPerSecond, MaxClockSkew: o.MaxClockSkew,
		KindsInterval: o.KindsInterval, Clock: o.Clock, Stores: stores,
	}
	unwritten := &snapshots.Unwritten{}
	if err := snapshots.SetupWithManager(ctx, mgr, options, o.MaxInFlight, unwritten, cmp.Or(o.Metrics, metrics.New())); err != nil {
		return nil, fmt.Errorf("set up the SnapshotSchedule controller: %w", err)
	}
	if len(m.Cache.DefaultNamespaces) == 0 { // otherwise Roles in these namespaces are all that there is
		err := clusterschedules.SetupWithManager(
			mgr, options, snapshots.Validate, &snapshots.Ownership, unwritten, cmp.Or(o.ClusterMetrics, clusterschedules.NewMetrics()))
		if err != nil {
			return nil, fmt.Errorf("set up the ClusterSnapshotSchedule controller: %w", err)
		}
	}
	return mgr, nil
}
