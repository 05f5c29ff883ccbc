// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"mapcontroller.dev/snapshotschedule/internal/report"
)

// Figures are what the status of one schedule said when it was last computed. The gauges
// say nothing that status does not.
type Figures struct {
	Ready  bool
	Reason string
	// Protected is the condition's status; Protection its reason, empty while it is unknown.
	Protected  bool
	Protection string
	// Known is false where status has only conditions: the spec is invalid, or a kind
	// is missing. Earlier figures would be stale.
	Known bool

	Claims, Failing, Skipped int
	// Snapshots, by state. Each is in one of them.
	ReadySnapshots, Pending, Failed, Terminating, Detached int
	// Stuck counts those with data whose deletion does not end.
	Stuck                             int
	RecoveryPoint, Verified, NextSlot time.Time
	Interval                          time.Duration
	Suspended, Paused                 bool
	ClusterSchedule                   string
	Problems                          int
}

// schedules hold the figures of all schedules.
type schedules struct {
	kinds []gaugeKind

	mu sync.Mutex
	of map[types.NamespacedName]Figures
}

// set returns whether the schedule is new here.
func (g *schedules) set(s types.NamespacedName, f Figures) (added bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, known := g.of[s]
	g.of[s] = f
	return !known
}

func (g *schedules) forget(s types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.of, s)
}

// Describe implements prometheus.Collector.
func (g *schedules) Describe(descriptions chan<- *prometheus.Desc) {
	for _, k := range g.kinds {
		descriptions <- k.desc
	}
}

// Collect implements prometheus.Collector.
func (g *schedules) Collect(found chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for s, f := range g.of {
		for _, k := range g.kinds {
			k.read(&f, func(value float64, labels ...string) {
				report.Gauge(found, k.desc, value, append([]string{s.Namespace, s.Name}, labels...)...)
			})
		}
	}
}

// emit is called with a value, and the labels beyond those of the schedule.
type emit func(value float64, labels ...string)

// gaugeKind is one gauge of a schedule, and how it is read from the figures. What
// is not known is not emitted.
type gaugeKind struct {
	desc *prometheus.Desc
	read func(*Figures, emit)
}

func (g *schedules) init(m *Metrics) {
	gauge := func(name, help string, read func(*Figures, emit), labels ...string) gaugeKind {
		return gaugeKind{desc: m.describe("gauge", name, help, bySchedule(labels...)...).Desc(), read: read}
	}
	g.of = map[types.NamespacedName]Figures{}
	g.kinds = []gaugeKind{
		gauge("ready",
			"1 if the condition Ready is true, 0 otherwise. The label reason is the condition's reason.",
			func(f *Figures, emit emit) {
				if f.Reason != "" {
					emit(bit(f.Ready), f.Reason)
				}
			}, labelReason),
		gauge("protected",
			"1 if the condition Protected is true, 0 if it is false. The label reason is the condition's reason. Absent while it is unknown: "+
				"the first snapshots are pending, no claim counts, or the spec is invalid.",
			func(f *Figures, emit emit) {
				if f.Protection != "" {
					emit(bit(f.Protected), f.Protection)
				}
			}, labelReason),
		gauge("suspended",
			"1 if spec.suspend is true, 0 otherwise. The label cluster_schedule is the ClusterSnapshotSchedule that made the schedule, if one did.",
			func(f *Figures, emit emit) {
				if f.Known {
					emit(bit(f.Suspended), f.ClusterSchedule)
				}
			}, "cluster_schedule"),
		gauge("retention_paused",
			"1 if the condition RetentionPaused is true, that is, expired snapshots are not deleted; 0 otherwise.",
			figure(func(f *Figures) float64 { return bit(f.Paused) })),
		gauge("interval_seconds",
			"Seconds between two slots. With a cron expression, the longer of the gaps before and after the latest slot.",
			figure(func(f *Figures) float64 { return f.Interval.Seconds() })),
		gauge("next_slot_timestamp_seconds",
			"Unix time at which the next snapshot is due. Absent if none is.",
			instant(func(f *Figures) time.Time { return f.NextSlot })),
		gauge("oldest_recovery_point_timestamp_seconds",
			"Unix time of the oldest recovery point of all PersistentVolumeClaims. The recovery point of a claim is the time of "+
				"its newest ready snapshot or, without one, the creation time of the claim or of the schedule, whichever is later. "+
				"Claims that are skipped are not counted, such as those that were never bound. Absent if no claim is counted.",
			instant(func(f *Figures) time.Time { return f.RecoveryPoint })),
		gauge("oldest_verified_timestamp_seconds",
			"Unix time of the oldest last successful drill of all PersistentVolumeClaims. A drill is a restore of a snapshot to try it. "+
				"Claims that are skipped or have no successful drill are not counted. Absent if no claim is counted.",
			instant(func(f *Figures) time.Time { return f.Verified })),
		gauge("persistentvolumeclaims",
			"Number of PersistentVolumeClaims that match the selector.",
			figure(func(f *Figures) float64 { return float64(f.Claims) })),
		gauge("failing_persistentvolumeclaims",
			"Number of PersistentVolumeClaims whose snapshots fail: creating one failed, the newest one failed, one is overdue, "+
				"no VolumeSnapshotClass fits, or the last drill failed.",
			figure(func(f *Figures) float64 { return float64(f.Failing) })),
		gauge("skipped_persistentvolumeclaims",
			"Number of PersistentVolumeClaims that are skipped because they are not bound, are being deleted or cannot be snapshotted.",
			figure(func(f *Figures) float64 { return float64(f.Skipped) })),
		gauge("snapshots",
			"Number of VolumeSnapshots by state: detached if the PersistentVolumeClaim is deleted or no longer matches; "+
				"otherwise terminating (being deleted), ready, failed (not cut within readyDeadline, or in error for longer than that) "+
				"or pending.",
			func(f *Figures, emit emit) {
				if f.Known {
					emit(float64(f.ReadySnapshots), "ready")
					emit(float64(f.Pending), "pending")
					emit(float64(f.Failed), "failed")
					emit(float64(f.Terminating), "terminating")
					emit(float64(f.Detached), "detached")
				}
			}, labelState),
		gauge("stuck_deletions",
			"Number of VolumeSnapshots and VolumeGroupSnapshots with data whose deletion the storage does not finish: they have been "+
				"terminating for longer than readyDeadline (at least 1m) or 1h, whichever is shorter.",
			figure(func(f *Figures) float64 { return float64(f.Stuck) })),
		gauge("problems",
			"Number of problems of the schedule: those listed in status.problems, and status.moreProblems.",
			figure(func(f *Figures) float64 { return float64(f.Problems) })),
	}
}

// figure emits nothing where status has no figures.
func figure(value func(*Figures) float64) func(*Figures, emit) {
	return func(f *Figures, emit emit) {
		if f.Known {
			emit(value(f))
		}
	}
}

// instant emits nothing where there is no such time.
func instant(at func(*Figures) time.Time) func(*Figures, emit) {
	return func(f *Figures, emit emit) {
		if t := at(f); f.Known && !t.IsZero() {
			emit(float64(t.Unix()))
		}
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
