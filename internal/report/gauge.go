// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Metric describes a metric.
type Metric struct {
	Name, Help string
	// Type is counter, gauge or histogram.
	Type   string
	Labels []string
}

// Desc returns the description for Prometheus.
func (m Metric) Desc() *prometheus.Desc { return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil) }

// Gauge sends a gauge to a scrape, unless a label cannot be shown as it is. An invalid one
// would fail the scrape as a whole, and so would two that are equal once they are escaped.
func Gauge(found chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	if slices.ContainsFunc(labels, func(label string) bool { return Text(label, MaxName) != label }) {
		return
	}
	if m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, labels...); err == nil {
		found <- m
	}
}
