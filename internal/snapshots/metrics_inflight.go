// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"mapcontroller.dev/snapshotschedule/internal/inflight"
	"mapcontroller.dev/snapshotschedule/internal/report"
)

// inFlightGauges are the gauges of each driver.
var inFlightGauges = driverGauges{
	inFlight: newDriverGauge("in_flight_snapshots",
		"Number of VolumeSnapshots that are created and not yet cut, by driver, as --max-in-flight-per-driver counts them: those that the "+
			"operator made, without those that are being deleted, or that have been uncut for longer than readyDeadline (at least a "+
			"minute) or an hour. Drivers that no VolumeSnapshotClass names count as "+otherDrivers+"."),
	waiting: newDriverGauge("waiting_persistentvolumeclaims",
		"Number of PersistentVolumeClaims whose snapshot is due and waits for its turn, by driver. A claim counts once for each schedule."),
}

// otherDrivers is the label of all drivers that no VolumeSnapshotClass names: people
// without any rights to classes can make those up. No driver can have this name.
const otherDrivers = "(other)"

type driverGauges struct {
	inFlight, waiting *prometheus.Desc
	// of is nil while this process does not lead.
	of atomic.Pointer[inFlight]
}

func newDriverGauge(name, help string) *prometheus.Desc {
	m := describe("gauge", name, help, labelDriver)
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

// export runs for as long as this process leads.
func (f *inFlight) export(ctx context.Context) error {
	inFlightGauges.of.Store(f)
	defer inFlightGauges.of.CompareAndSwap(f, nil)
	<-ctx.Done()
	return nil
}

// Describe implements prometheus.Collector.
func (g *driverGauges) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- g.inFlight
	descriptions <- g.waiting
}

// Collect implements prometheus.Collector.
func (g *driverGauges) Collect(found chan<- prometheus.Metric) {
	f := g.of.Load()
	if f == nil {
		return
	}
	for label, c := range f.counts() {
		report.Gauge(found, g.inFlight, float64(c.InFlight), label)
		report.Gauge(found, g.waiting, float64(c.Waiting), label)
	}
}

// counts returns the counts by label.
func (f *inFlight) counts() map[string]inflight.Count {
	byLabel := map[string]inflight.Count{otherDrivers: {}}
	for _, o := range f.stores.List(anyClass, "") {
		if d := driverNamed(classOf(o).Driver); d != "" {
			byLabel[string(d)] = inflight.Count{}
		}
	}
	f.mu.Lock()
	counts := f.gate.Counts(f.clock.Now())
	f.mu.Unlock()
	for name, c := range counts {
		if _, isClass := byLabel[name]; !isClass || !f.classesKnown {
			name = otherDrivers
		}
		sum := byLabel[name]
		byLabel[name] = inflight.Count{InFlight: sum.InFlight + c.InFlight, Waiting: sum.Waiting + c.Waiting}
	}
	return byLabel
}
