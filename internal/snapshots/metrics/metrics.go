// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/report"
	"mapcontroller.dev/snapshotschedule/internal/retention"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/members"
	"mapcontroller.dev/snapshotschedule/internal/version"
)

const (
	labelNamespace = "namespace"
	labelSchedule  = "schedule"
	labelReason    = "reason"
	labelVerb      = "verb"
	labelState     = "state"
	labelDriver    = "driver"
)

// Metrics are those of one operator. It is a prometheus.Collector. PVCs are never a label,
// because their number has no bound.
type Metrics struct {
	created, deleted, retained, failed, refused *prometheus.CounterVec
	slotToCreation                              *prometheus.HistogramVec
	// active is 1 while this process leads. The others are on standby and export no
	// metrics of schedules.
	active prometheus.Gauge

	gauges schedules
	leader leader

	described  []report.Metric
	collectors []prometheus.Collector
}

// New returns metrics that are in no registry.
func New() *Metrics {
	m := &Metrics{}
	m.created = m.counter("snapshots_created_total",
		"Number of VolumeSnapshots created.")
	m.deleted = m.counter("snapshots_deleted_total",
		"Number of VolumeSnapshots that retention deleted and that are gone, by the reason.", labelReason)
	m.retained = m.counter("snapshots_retained_in_storage_total",
		"Number of VolumeSnapshots that retention deleted and that are gone, whose data stays in the storage, because their "+
			"VolumeSnapshotClass has the deletionPolicy Retain.")
	m.failed = m.counter("snapshots_failed_total",
		"Number of VolumeSnapshots that were not cut within readyDeadline, or were cut and had an error for longer than that.")
	m.refused = m.counter("refused_writes_total",
		"Number of writes that the API server refused or did not answer, by verb: create, update, delete, adopt, release, label. "+
			"A create also counts while its name is taken.", labelVerb)
	m.slotToCreation = m.histogram("slot_to_creation_seconds",
		"Seconds from the time at which a VolumeSnapshot was due until it was created.")
	m.active = m.gauge(m.describe("gauge", "active", "1 in the replica that is the leader, 0 in a standby replica."), nil)
	v := version.Get()
	m.gauge(m.describe("gauge", "build_info", "1. The labels say which version of the operator runs in this replica.",
		"version", "revision", "goversion"),
		prometheus.Labels{"version": v.Version, "revision": v.Revision, "goversion": v.GoVersion}).Set(1)
	m.gauges.init(m)
	m.leader.init(m)
	m.collectors = append(m.collectors, &m.gauges, &m.leader)
	return m
}

// Described returns all metrics, by name, for documentation and for tests of rules and
// dashboards.
func (m *Metrics) Described() []report.Metric {
	return slices.SortedFunc(slices.Values(m.described), func(a, b report.Metric) int { return strings.Compare(a.Name, b.Name) })
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, c := range m.collectors {
		c.Describe(descriptions)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(found chan<- prometheus.Metric) {
	for _, c := range m.collectors {
		c.Collect(found)
	}
}

func (m *Metrics) describe(kind, name, help string, labels ...string) report.Metric {
	d := report.Metric{Name: "snapshotschedule_" + name, Help: help, Type: kind, Labels: labels}
	m.described = append(m.described, d)
	return d
}

// bySchedule returns the labels that nearly all metrics have.
func bySchedule(more ...string) []string {
	return append([]string{labelNamespace, labelSchedule}, more...)
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	d := m.describe("counter", name, help, bySchedule(labels...)...)
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
	m.collectors = append(m.collectors, vec)
	return vec
}

// waits are the bounds of the histogram, in seconds: a healthy wait takes a few,
// others take hours. They are few because each bound is a time series per schedule.
// Prometheus stores a native histogram only if it is configured to.
var waits = []float64{1, 5, 30, 120, 600, 3600, 21600}

func (m *Metrics) histogram(name, help string) *prometheus.HistogramVec {
	d := m.describe("histogram", name, help, bySchedule()...)
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: waits}, d.Labels)
	m.collectors = append(m.collectors, vec)
	return vec
}

// gauge returns a gauge of the process.
func (m *Metrics) gauge(d report.Metric, labels prometheus.Labels) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: d.Name, Help: d.Help, ConstLabels: labels})
	m.collectors = append(m.collectors, g)
	return g
}

// Created counts snapshots that were created.
func (m *Metrics) Created(s types.NamespacedName, n int) { countUp(m.created, n, s.Namespace, s.Name) }

// Deleted counts a snapshot that was deleted and is gone.
func (m *Metrics) Deleted(s types.NamespacedName, reason string) {
	countUp(m.deleted, 1, s.Namespace, s.Name, reason)
}

// Retained counts a snapshot whose data stays in the storage.
func (m *Metrics) Retained(s types.NamespacedName) { countUp(m.retained, 1, s.Namespace, s.Name) }

// Failed counts a snapshot that failed.
func (m *Metrics) Failed(s types.NamespacedName) { countUp(m.failed, 1, s.Namespace, s.Name) }

// Refused counts a write that was refused.
func (m *Metrics) Refused(s types.NamespacedName, verb mapcontroller.Verb) {
	countUp(m.refused, 1, s.Namespace, s.Name, string(verb))
}

// SlotToCreation counts for how long a snapshot was due before it was created.
func (m *Metrics) SlotToCreation(s types.NamespacedName, wait time.Duration) {
	observe(m.slotToCreation, wait, s)
}

// Measure keeps what the status of a schedule says.
func (m *Metrics) Measure(s types.NamespacedName, f Figures) {
	if m.gauges.set(s, f) {
		m.start(s)
	}
}

// start starts all counters of a schedule at zero: to Prometheus, a series
// that begins with one has not increased.
func (m *Metrics) start(s types.NamespacedName) {
	m.eachCounted(func(vec *prometheus.MetricVec, more ...string) {
		// It fails only for a wrong number of labels.
		_, _ = vec.GetMetricWithLabelValues(append([]string{s.Namespace, s.Name}, more...)...)
	})
}

// The reasons for deletes are the verdicts from the first to the last.
const firstDelete, lastDelete = retention.Expired, retention.KeepsClaim

// Forget drops the series of a schedule that is deleted. It is called for
// every key of such a schedule, so it names each series: a partial match would
// search those of all schedules.
func (m *Metrics) Forget(s types.NamespacedName) {
	m.gauges.forget(s)
	m.eachCounted(func(vec *prometheus.MetricVec, more ...string) {
		vec.DeleteLabelValues(append([]string{s.Namespace, s.Name}, more...)...)
	})
}

// eachCounted calls do with every counter and histogram of a schedule, and with
// the values of the labels beyond the schedule's.
func (m *Metrics) eachCounted(do func(vec *prometheus.MetricVec, more ...string)) {
	for _, vec := range []*prometheus.MetricVec{
		m.created.MetricVec, m.retained.MetricVec, m.failed.MetricVec, m.slotToCreation.MetricVec,
	} {
		do(vec)
	}
	for why := firstDelete; why <= lastDelete; why++ {
		do(m.deleted.MetricVec, why.String())
	}
	for _, verb := range []mapcontroller.Verb{
		mapcontroller.VerbCreate, mapcontroller.VerbUpdate, mapcontroller.VerbDelete,
		mapcontroller.VerbAdopt, mapcontroller.VerbRelease, members.VerbLabel,
	} {
		do(m.refused.MetricVec, string(verb))
	}
}

// countUp adds to a counter. What cannot be counted must not end the program.
func countUp(vec *prometheus.CounterVec, n int, labels ...string) {
	if counter, err := vec.GetMetricWithLabelValues(labels...); err == nil {
		counter.Add(float64(n))
	}
}

// observe adds a wait to a histogram. It is never negative: the two times are in whole
// seconds, and from two clocks.
func observe(vec *prometheus.HistogramVec, wait time.Duration, s types.NamespacedName) {
	if histogram, err := vec.GetMetricWithLabelValues(s.Namespace, s.Name); err == nil {
		histogram.Observe(max(0, wait).Seconds())
	}
}
