// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"math/rand/v2"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// specParts draw the parts of a spec, each on its own, so that an edit can draw a single one.
var specParts = []func(*rand.Rand, *v1alpha1.SnapshotScheduleSpec){
	drawTimes, drawSelector, drawTTL, drawTiers, drawCap, drawFloor, drawDetached, drawDeadlines, drawDeletionPolicy,
}

func drawTimes(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.SnapshotInterval, spec.Schedule, spec.TimeZone, spec.Jitter = "", "", "", ""
	if oneIn(r, 3) {
		spec.Schedule = pick[v1alpha1.CronLine](r, "30 2 * * *", "0 */6 * * *", "15 8,20 * * *", "@daily", "5 1 * * *")
		spec.TimeZone = pick(r, "", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
		spec.Jitter = pick[v1alpha1.Duration](r, "", "", "10m")
		return
	}
	spec.SnapshotInterval = pick[v1alpha1.Duration](r, "3h", "6h", "8h", "12h", "1d", "1d", "1d6h")
	spec.Jitter = pick[v1alpha1.Duration](r, "", "", "15m", "1h")
}

func drawSelector(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Selector = pick(r,
		v1alpha1.LabelSelector{},
		v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{appLabel: "a"}},
		v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{appLabel: "a"}},
		v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{
			{Key: appLabel, Operator: metav1.LabelSelectorOpIn, Values: []v1alpha1.LabelValue{"a", "b"}},
		}},
	)
}

func drawTTL(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.SnapshotTTL = pick[v1alpha1.Duration](r, "2h", "1d", "3d", "3d", "7d", "10d", "")
	if spec.SnapshotTTL == "" && spec.Retention.MaxCount == nil {
		spec.Retention.MaxCount = new(int32(10))
	}
}

func drawTiers(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.Keep = pick(r,
		v1alpha1.Keep{}, v1alpha1.Keep{}, v1alpha1.Keep{Last: 3}, v1alpha1.Keep{Daily: 4},
		v1alpha1.Keep{Hourly: 6, Daily: 3, Weekly: 2}, v1alpha1.Keep{Last: 1, Monthly: 2}, v1alpha1.Keep{Weekly: 3, Yearly: 1},
	)
}

func drawCap(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.MaxCount = nil
	if spec.SnapshotTTL == "" || oneIn(r, 3) {
		spec.Retention.MaxCount = new(pick(r, int32(1), 3, 8, 20))
	}
}

func drawFloor(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.MinReady = new(pick(r, int32(0), 1, 1, 2, 4))
}

func drawDetached(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.Retention.Detached = v1alpha1.DetachedRetention{
		SnapshotTTL: pick[v1alpha1.Duration](r, "", "", "1d", "5d"),
		MinReady:    pick(r, int32(0), 0, 1, 2),
	}
}

func drawDeadlines(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.ReadyDeadline = pick[v1alpha1.Duration](r, "1h", "1h", "10m", "4h")
	spec.StartingDeadline = pick[v1alpha1.Duration](r, "", "", "", "2h")
}

func drawDeletionPolicy(r *rand.Rand, spec *v1alpha1.SnapshotScheduleSpec) {
	spec.DeletionPolicy = pick(r, v1alpha1.DeletionDelete, v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan)
}
