// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// tell is given a value, and the labels beyond those of the schedule.
type tell func(value float64, labels ...string)

// gaugeKind is one gauge of a schedule, and how it is read off the figures. What
// is not known is not told.
type gaugeKind struct {
	desc *prometheus.Desc
	read func(*figures, tell)
}

func newGauge(name, help string, read func(*figures, tell), labels ...string) gaugeKind {
	m := describe("gauge", name, help, bySchedule(labels...)...)
	return gaugeKind{desc: prometheus.NewDesc(m.Name, m.Help, m.Labels, nil), read: read}
}

var gaugeKinds = []gaugeKind{
	newGauge("ready",
		"Whether condition Ready is true (1) or not (0), and its reason.",
		func(f *figures, tell tell) {
			if f.reason != "" {
				tell(bit(f.ready), f.reason)
			}
		}, labelReason),
	newGauge("suspended",
		"Whether spec.suspend is true (1) or not (0).",
		figure(func(f *figures) float64 { return bit(f.suspended) })),
	newGauge("retention_paused",
		"Whether condition RetentionPaused is true (1) or not (0): snapshots were to be deleted and it was not safe.",
		figure(func(f *figures) float64 { return bit(f.paused) })),
	newGauge("interval_seconds",
		"Seconds between two slots. Of a cron line, the longer one of the last gap and the next.",
		figure(func(f *figures) float64 { return f.interval.Seconds() })),
	newGauge("next_slot_timestamp_seconds",
		"When the next snapshot is due, in seconds since 1970; absent if none is.",
		instant(func(f *figures) time.Time { return f.nextSlot })),
	newGauge("oldest_recovery_point_timestamp_seconds",
		"When the newest ready snapshot was taken, of the PersistentVolumeClaim that is worst off, in seconds since 1970. "+
			"One without a ready snapshot counts with the time from which on it should have had one. "+
			"One that was never bound holds no data, and does not count; absent if none counts.",
		instant(func(f *figures) time.Time { return f.recoveryPoint })),
	newGauge("persistentvolumeclaims",
		"PersistentVolumeClaims that match.",
		figure(func(f *figures) float64 { return float64(f.claims) })),
	newGauge("failing_persistentvolumeclaims",
		"Matching PersistentVolumeClaims that are not backed up as they should be: "+
			"the create failed, the newest snapshot failed, or one is overdue.",
		figure(func(f *figures) float64 { return float64(f.failing) })),
	newGauge("skipped_persistentvolumeclaims",
		"Matching PersistentVolumeClaims that can not be snapshotted now: they are not bound, or being deleted.",
		figure(func(f *figures) float64 { return float64(f.skipped) })),
	newGauge("snapshots",
		"VolumeSnapshots that the schedule owns, each in one state: detached if its PersistentVolumeClaim is gone or "+
			"no longer matches; else ready, failed (not cut in time, or cut and in error for as long), or pending.",
		func(f *figures, tell tell) {
			if f.known {
				tell(float64(f.uploaded), "ready")
				tell(float64(f.pending), "pending")
				tell(float64(f.failed), "failed")
				tell(float64(f.detached), "detached")
			}
		}, labelState),
	newGauge("problems",
		"Problems of the schedule, those that status lists and the others.",
		figure(func(f *figures) float64 { return float64(f.problems) })),
}

// figure tells nothing where status has no figures.
func figure(value func(*figures) float64) func(*figures, tell) {
	return func(f *figures, tell tell) {
		if f.known {
			tell(value(f))
		}
	}
}

// instant tells nothing where there is no such time.
func instant(at func(*figures) time.Time) func(*figures, tell) {
	return func(f *figures, tell tell) {
		if t := at(f); f.known && !t.IsZero() {
			tell(float64(t.Unix()))
		}
	}
}

func bit(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
