// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterschedules

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// The label is that of snapshotschedule_suspended.
const labelFleet = "cluster_schedule"

var (
	namespacesGauge = report.Metric{
		Name: "snapshotschedule_cluster_namespaces", Type: "gauge", Labels: []string{labelFleet},
		Help: "Number of namespaces that a ClusterSnapshotSchedule selects.",
	}
	protectedGauge = report.Metric{
		Name: "snapshotschedule_cluster_protected", Type: "gauge", Labels: []string{labelFleet, "reason"},
		Help: "1 if the condition Protected of a ClusterSnapshotSchedule is true, 0 if it is false. The label reason is the condition's " +
			"reason. Absent while it is unknown.",
	}
	problemsGauge = report.Metric{
		Name: "snapshotschedule_cluster_problems", Type: "gauge", Labels: []string{labelFleet},
		Help: "Number of problems of a ClusterSnapshotSchedule: those listed in status.problems, and status.moreProblems.",
	}
	readyGauge = report.Metric{
		Name: "snapshotschedule_cluster_ready", Type: "gauge", Labels: []string{labelFleet, "reason"},
		Help: "1 if the condition Ready of a ClusterSnapshotSchedule is true, 0 otherwise. The label reason is the condition's reason.",
	}
)

// Metrics are the gauges of one operator: what the status of each ClusterSnapshotSchedule
// said when it was last computed. It is a prometheus.Collector.
type Metrics struct {
	ready, protected, namespaces, problems *prometheus.Desc

	mu sync.Mutex
	of map[string]v1alpha1.ClusterSnapshotScheduleStatus
}

// NewMetrics returns metrics that are in no registry.
func NewMetrics() *Metrics {
	return &Metrics{
		ready: readyGauge.Desc(), protected: protectedGauge.Desc(), namespaces: namespacesGauge.Desc(), problems: problemsGauge.Desc(),
		of: map[string]v1alpha1.ClusterSnapshotScheduleStatus{},
	}
}

// Described returns all metrics, by name.
func (*Metrics) Described() []report.Metric {
	return []report.Metric{namespacesGauge, problemsGauge, protectedGauge, readyGauge}
}

func (g *Metrics) set(f *v1alpha1.ClusterSnapshotSchedule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[f.Name] = *f.Status.DeepCopy()
}

func (g *Metrics) forget(f types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, f.Name)
}

// Describe implements prometheus.Collector.
func (g *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.ready, g.protected, g.namespaces, g.problems} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (g *Metrics) Collect(found chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	emit := func(d *prometheus.Desc, value float64, labels ...string) {
		report.Gauge(found, d, value, labels...)
	}
	for name, status := range g.of {
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c != nil {
			emit(g.ready, float64(one(meta.IsStatusConditionTrue(status.Conditions, c.Type))), name, c.Reason)
		}
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProtected); c != nil && c.Status != metav1.ConditionUnknown {
			emit(g.protected, float64(one(c.Status == metav1.ConditionTrue)), name, c.Reason)
		}
		emit(g.problems, float64(len(status.Problems)+int(status.MoreProblems)), name)
		if status.Inputs != nil { // otherwise the number is unknown
			emit(g.namespaces, float64(status.Inputs.Namespaces.Total), name)
		}
	}
}
