// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Metric describes a metric, for documentation and for tests of rules and dashboards.
type Metric struct {
	Name, Help string
	// Type is counter, gauge or histogram.
	Type   string
	Labels []string
}

// Metrics returns all metrics, by name. PVCs are never a label, because their
// number has no bound.
func Metrics() []Metric {
	return slices.SortedFunc(slices.Values(described), func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
}

var described []Metric

func describe(kind, name, help string, labels ...string) Metric {
	m := Metric{Name: "snapshotschedule_" + name, Help: help, Type: kind, Labels: labels}
	described = append(described, m)
	return m
}

const (
	labelNamespace = "namespace"
	labelSchedule  = "schedule"
	labelReason    = "reason"
	labelVerb      = "verb"
	labelState     = "state"
	labelDriver    = "driver"
)

// bySchedule returns the labels that nearly all metrics have.
func bySchedule(more ...string) []string {
	return append([]string{labelNamespace, labelSchedule}, more...)
}

// Counters and histograms of what became of snapshots.
var (
	createdTotal = newCounter("snapshots_created_total",
		"Number of VolumeSnapshots created.")
	deletedTotal = newCounter("snapshots_deleted_total",
		"Number of VolumeSnapshots deleted, by the reason why retention deleted them.", labelReason)
	failedTotal = newCounter("snapshots_failed_total",
		"Number of VolumeSnapshots that were not cut within readyDeadline, or were cut and had an error for longer than that.")
	refusedTotal = newCounter("refused_writes_total",
		"Number of writes that the API server refused or did not answer, by verb: create, update, delete, adopt, release. "+
			"A create also counts while its name is taken.", labelVerb)
	slotToCreation = newHistogram("slot_to_creation_seconds",
		"Seconds from the time at which a VolumeSnapshot was due until it was created.")
	creationToReady = newHistogram("creation_to_ready_seconds",
		"Seconds from the creation of a VolumeSnapshot until it was ready to use.")
)

// active is 1 while this process leads. The others are on standby and export no
// metrics of schedules.
var active = prometheus.NewGauge(prometheus.GaugeOpts(opts(describe("gauge", "active",
	"1 in the replica that is the leader, 0 in a standby replica."))))

// reportActive runs for as long as this process leads.
func reportActive(ctx context.Context) error {
	active.Inc()
	defer active.Dec()
	<-ctx.Done()
	return nil
}

// RegisterMetrics registers the metrics in controller-runtime's registry, once.
// SetupWithManager calls it; programs that only decide register none.
var RegisterMetrics = sync.OnceFunc(func() {
	metrics.Registry.MustRegister(
		createdTotal, deletedTotal, failedTotal, refusedTotal, slotToCreation, creationToReady, active, buildInfo,
		&gauges, &unprotected, &inFlightGauges)
})

func opts(m Metric) prometheus.Opts { return prometheus.Opts{Name: m.Name, Help: m.Help} }

func newCounter(name, help string, labels ...string) *prometheus.CounterVec {
	m := describe("counter", name, help, bySchedule(labels...)...)
	return prometheus.NewCounterVec(prometheus.CounterOpts(opts(m)), m.Labels)
}

// waits are the bounds of both histograms, in seconds: a healthy wait takes a few,
// others take hours. They are few because each bound is a time series per schedule.
// Prometheus stores a native histogram only if it is configured to.
var waits = []float64{1, 5, 30, 120, 600, 3600, 21600}

func newHistogram(name, help string) *prometheus.HistogramVec {
	m := describe("histogram", name, help, bySchedule()...)
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: waits}, m.Labels)
}

// startCounting starts all counters of a schedule at zero: to Prometheus, a series
// that begins with one has not increased.
func startCounting(s types.NamespacedName) {
	eachCounted(func(vec *prometheus.MetricVec, more ...string) {
		// It fails only for a wrong number of labels.
		_, _ = vec.GetMetricWithLabelValues(append([]string{s.Namespace, s.Name}, more...)...)
	})
}

// The reasons for deletes are the verdicts from the first to the last.
const firstDelete, lastDelete = retention.Expired, retention.Superseded

// forgetMetrics drops the series of a schedule that is deleted. It is called for
// every key of such a schedule, so it names each series: a partial match would
// search those of all schedules.
func forgetMetrics(s types.NamespacedName) {
	gauges.forget(s)
	eachCounted(func(vec *prometheus.MetricVec, more ...string) {
		vec.DeleteLabelValues(append([]string{s.Namespace, s.Name}, more...)...)
	})
}

// eachCounted calls do with every counter and histogram of a schedule, and with
// the values of the labels beyond the schedule's.
func eachCounted(do func(vec *prometheus.MetricVec, more ...string)) {
	for _, vec := range []*prometheus.MetricVec{
		createdTotal.MetricVec, failedTotal.MetricVec, slotToCreation.MetricVec, creationToReady.MetricVec,
	} {
		do(vec)
	}
	for why := firstDelete; why <= lastDelete; why++ {
		do(deletedTotal.MetricVec, why.String())
	}
	for _, verb := range []mapcontroller.Verb{
		mapcontroller.VerbCreate, mapcontroller.VerbUpdate, mapcontroller.VerbDelete, mapcontroller.VerbAdopt, mapcontroller.VerbRelease,
	} {
		do(refusedTotal.MetricVec, string(verb))
	}
}

func countOutcome(now time.Time, s *v1alpha1.SnapshotSchedule, outcome mapcontroller.Outcome) {
	if n := len(outcome.Created); n > 0 {
		countUp(createdTotal, n, s.Namespace, s.Name)
	}
	for _, o := range outcome.Created {
		slot := scheduledAt(o.(*snapshotv1.VolumeSnapshot))
		observeWait(slotToCreation, now.Sub(slot), s.Namespace, s.Name)
	}
	for _, f := range outcome.Failed {
		if !f.Held {
			countUp(refusedTotal, 1, s.Namespace, s.Name, string(f.Verb))
		}
	}
	for _, d := range outcome.Deleted {
		countUp(deletedTotal, 1, s.Namespace, s.Name, d.Reason)
	}
}

// countUp adds to a counter. What cannot be counted must not end the program.
func countUp(vec *prometheus.CounterVec, n int, labels ...string) {
	if counter, err := vec.GetMetricWithLabelValues(labels...); err == nil {
		counter.Add(float64(n))
	}
}

// observeWait adds a wait to a histogram. It is never negative: the two times are in whole
// seconds, and from two clocks.
func observeWait(vec *prometheus.HistogramVec, wait time.Duration, labels ...string) {
	if histogram, err := vec.GetMetricWithLabelValues(labels...); err == nil {
		histogram.Observe(max(0, wait).Seconds())
	}
}
