// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/limits"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// OtherDrivers is the label of all drivers that no VolumeSnapshotClass names: people
// without any rights to classes can make those up. No driver can have this name.
const OtherDrivers = "(other)"

// Sources are what the gauges of a process that leads are read from, at a scrape, so that
// they cost nothing in between.
type Sources struct {
	// Drivers returns the counts of each driver.
	Drivers func() map[string]limits.Count
	// Unprotected returns the number of PVCs of each namespace that no schedule protects;
	// nil if it is not known.
	Unprotected func() map[string]int
}

// leader has the gauges of a process that leads.
type leader struct {
	inFlight, waiting, unprotected *prometheus.Desc
	// of is nil while this process does not lead.
	of atomic.Pointer[Sources]
}

func (l *leader) init(m *Metrics) {
	gauge := func(name, help, label string) *prometheus.Desc { return m.describe("gauge", name, help, label).Desc() }
	l.inFlight = gauge("in_flight_snapshots",
		"Number of VolumeSnapshots that are created and not yet cut, by driver, as --max-in-flight-per-driver counts them: those that the "+
			"operator made, without those that are being deleted, or that have been uncut for longer than readyDeadline (at least a "+
			"minute) or an hour. Drivers that no VolumeSnapshotClass names count as "+OtherDrivers+".", labelDriver)
	l.waiting = gauge("waiting_persistentvolumeclaims",
		"Number of PersistentVolumeClaims whose snapshot is due and waits, by driver. A claim counts once for each schedule.",
		labelDriver)
	l.unprotected = gauge("unprotected_persistentvolumeclaims",
		"Number of PersistentVolumeClaims that are bound and can be snapshotted, but that no valid schedule selects that is not "+
			"suspended. Claims with the annotation "+v1alpha1.AnnotationExclude+" are not counted, unless a "+
			"rollback that nobody has finished set it.", labelNamespace)
}

// Lead begins to export what a process that leads knows, until the function that it
// returns is called.
func (m *Metrics) Lead(s Sources) (resign func()) {
	m.active.Inc()
	m.leader.of.Store(&s)
	return func() {
		m.leader.of.CompareAndSwap(&s, nil)
		m.active.Dec()
	}
}

// Describe implements prometheus.Collector.
func (l *leader) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{l.inFlight, l.waiting, l.unprotected} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (l *leader) Collect(found chan<- prometheus.Metric) {
	s := l.of.Load()
	if s == nil {
		return
	}
	for label, c := range s.Drivers() {
		report.Gauge(found, l.inFlight, float64(c.InFlight), label)
		report.Gauge(found, l.waiting, float64(c.Waiting), label)
	}
	for namespace, n := range s.Unprotected() {
		report.Gauge(found, l.unprotected, float64(n), namespace)
	}
}
