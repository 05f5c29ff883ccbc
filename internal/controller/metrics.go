/*
Copyright 2026 The SnapshotSchedule Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
)

// What became of snapshots, by schedule. PVCs are no label: their number has no
// bound.
var (
	createdTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snapshotschedule_snapshots_created_total",
		Help: "VolumeSnapshots that were created.",
	}, []string{"namespace", "schedule"})
	deletedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snapshotschedule_snapshots_deleted_total",
		Help: "VolumeSnapshots that were deleted, by the reason why retention no longer kept them.",
	}, []string{"namespace", "schedule", "reason"})
	failedTotal = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snapshotschedule_snapshots_failed_total",
		Help: "VolumeSnapshots that were not cut in time, or were cut and stayed in error.",
	}, []string{"namespace", "schedule"})
)

func init() { metrics.Registry.MustRegister(createdTotal, deletedTotal, failedTotal) }

// forgetMetrics drops the series of a schedule that is gone.
func forgetMetrics(s types.NamespacedName) {
	for _, vec := range []*prometheus.CounterVec{createdTotal, deletedTotal, failedTotal} {
		vec.DeletePartialMatch(prometheus.Labels{"namespace": s.Namespace, "schedule": s.Name})
	}
}

func countOutcome(s *v1alpha1.SnapshotSchedule, outcome mapcontroller.Outcome) {
	if n := len(outcome.Created); n > 0 {
		createdTotal.WithLabelValues(s.Namespace, s.Name).Add(float64(n))
	}
	for _, d := range outcome.Deleted {
		deletedTotal.WithLabelValues(s.Namespace, s.Name, d.Why).Inc()
	}
}
