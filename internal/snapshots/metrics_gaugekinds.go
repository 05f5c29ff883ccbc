// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// emit is called with a value, and the labels beyond those of the schedule.
type emit func(value float64, labels ...string)

// gaugeKind is one gauge of a schedule, and how it is read from the figures. What
// is not known is not emitted.
type gaugeKind struct {
	desc *prometheus.Desc
	read func(*figures, emit)
}

func newGauge(name, help string, read func(*figures, emit), labels ...string) gaugeKind {
	m := describe("gauge", name, help, bySchedule(labels...)...)
	return gaugeKind{desc: prometheus.NewDesc(m.Name, m.Help, m.Labels, nil), read: read}
}

var gaugeKinds = []gaugeKind{
	newGauge("ready",
		"1 if the condition Ready is true, 0 otherwise. The label reason is the condition's reason.",
		func(f *figures, emit emit) {
			if f.reason != "" {
				emit(bit(f.ready), f.reason)
			}
		}, labelReason),
	newGauge("suspended",
		"1 if spec.suspend is true, 0 otherwise. The label cluster_schedule is the ClusterSnapshotSchedule that made the schedule, if one did.",
		func(f *figures, emit emit) {
			if f.known {
				emit(bit(f.suspended), f.clusterSchedule)
			}
		}, "cluster_schedule"),
	newGauge("retention_paused",
		"1 if the condition RetentionPaused is true, that is, expired snapshots are not deleted; 0 otherwise.",
		figure(func(f *figures) float64 { return bit(f.paused) })),
	newGauge("interval_seconds",
		"Seconds between two slots. With a cron expression, the longer of the gaps before and after the latest slot.",
		figure(func(f *figures) float64 { return f.interval.Seconds() })),
	newGauge("next_slot_timestamp_seconds",
		"Unix time at which the next snapshot is due. Absent if none is.",
		instant(func(f *figures) time.Time { return f.nextSlot })),
	newGauge("oldest_recovery_point_timestamp_seconds",
		"Unix time of the oldest recovery point of all PersistentVolumeClaims. The recovery point of a claim is the time of "+
			"its newest ready snapshot or, without one, the creation time of the claim or of the schedule, whichever is later. "+
			"Claims that are skipped are not counted, such as those that were never bound. Absent if no claim is counted.",
		instant(func(f *figures) time.Time { return f.recoveryPoint })),
	newGauge("persistentvolumeclaims",
		"Number of PersistentVolumeClaims that match the selector.",
		figure(func(f *figures) float64 { return float64(f.claims) })),
	newGauge("failing_persistentvolumeclaims",
		"Number of PersistentVolumeClaims whose snapshots fail: creating one failed, the newest one failed, one is overdue, "+
			"or no VolumeSnapshotClass fits.",
		figure(func(f *figures) float64 { return float64(f.failing) })),
	newGauge("skipped_persistentvolumeclaims",
		"Number of PersistentVolumeClaims that are skipped because they are not bound, are being deleted or cannot be snapshotted.",
		figure(func(f *figures) float64 { return float64(f.skipped) })),
	newGauge("snapshots",
		"Number of VolumeSnapshots by state: detached if the PersistentVolumeClaim is deleted or no longer matches; "+
			"otherwise ready, failed (not cut within readyDeadline, or in error for longer than that) or pending.",
		func(f *figures, emit emit) {
			if f.known {
				emit(float64(f.readySnapshots), "ready")
				emit(float64(f.pending), "pending")
				emit(float64(f.failed), "failed")
				emit(float64(f.detached), "detached")
			}
		}, labelState),
	newGauge("problems",
		"Number of problems of the schedule: those listed in status.problems, and status.moreProblems.",
		figure(func(f *figures) float64 { return float64(f.problems) })),
}

// figure emits nothing where status has no figures.
func figure(value func(*figures) float64) func(*figures, emit) {
	return func(f *figures, emit emit) {
		if f.known {
			emit(value(f))
		}
	}
}

// instant emits nothing where there is no such time.
func instant(at func(*figures) time.Time) func(*figures, emit) {
	return func(f *figures, emit emit) {
		if t := at(f); f.known && !t.IsZero() {
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
