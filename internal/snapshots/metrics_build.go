// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"github.com/prometheus/client_golang/prometheus"

	"mapcontroller.dev/snapshotschedule/internal/version"
)

// buildInfo is 1. Its labels say which version runs, also in a standby replica.
var buildInfo = newBuildInfo(version.Get())

func newBuildInfo(v version.Info) prometheus.Gauge {
	m := describe("gauge", "build_info", "1. The labels say which version of the operator runs in this replica.",
		"version", "revision", "goversion")
	o := opts(m)
	o.ConstLabels = prometheus.Labels{"version": v.Version, "revision": v.Revision, "goversion": v.GoVersion}
	g := prometheus.NewGauge(prometheus.GaugeOpts(o))
	g.Set(1)
	return g
}
