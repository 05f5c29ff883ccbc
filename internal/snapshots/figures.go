// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller"
	"mapcontroller.dev/snapshotschedule/internal/schedule"
	"mapcontroller.dev/snapshotschedule/internal/snapshots/metrics"
)

// figuresOf reads a status that was just computed.
func figuresOf(now time.Time, s *v1alpha1.SnapshotSchedule, known mapcontroller.Summary, sum combined) metrics.Figures {
	status := &s.Status
	f := metrics.Figures{Ready: meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady)}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); c != nil {
		f.Reason = c.Reason
	}
	if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProtected); c != nil && c.Status != metav1.ConditionUnknown {
		f.Protected, f.Protection = c.Status == metav1.ConditionTrue, c.Reason
	}
	p, ok := known.Spec.(*program)
	if !ok || known.Totals == nil {
		return f
	}
	f.Known = true
	f.Claims, f.Failing, f.Skipped = int(status.Inputs.PersistentVolumeClaims.Total), sum.Failing, sum.Skipped
	f.Pending, f.Failed, f.Terminating, f.Stuck = int(sum.Pending), int(sum.Failed), int(sum.Terminating), int(sum.Stuck)
	f.Detached = int(status.Detached.VolumeSnapshots + status.Detached.VolumeGroupSnapshots)
	f.ReadySnapshots = int(status.Outputs.VolumeSnapshots.Total) - f.Pending - f.Failed - f.Terminating - f.Detached
	if groups := status.Outputs.VolumeGroupSnapshots; groups != nil {
		f.ReadySnapshots += int(groups.Total)
	}
	f.RecoveryPoint, f.Verified, f.NextSlot = sum.RecoveryPoint, sum.Verified, ptr.Deref(status.NextSnapshotTime, metav1.Time{}).Time
	f.Interval = intervalOf(p.spec.rule, now)
	f.Suspended, f.ClusterSchedule = s.Spec.Suspend, s.Labels[v1alpha1.LabelClusterSchedule]
	f.Paused = meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionRetentionPaused)
	f.Problems = len(status.Problems) + int(status.MoreProblems)
	return f
}

// intervalOf returns the time between two slots. For a cron expression it is the
// longer of the gaps before and after the latest slot: a schedule from Monday to
// Friday is not late on a Sunday.
func intervalOf(rule schedule.Rule, now time.Time) time.Duration {
	if every := rule.Interval(); every > 0 {
		return every
	}
	line := rule.Timeline(time.Time{}, 0)
	latest, ok := line.Latest(now)
	if !ok {
		return 0
	}
	var gap time.Duration
	if previous, ok := line.Previous(latest); ok {
		gap = latest.Sub(previous)
	}
	if next, ok := line.Next(now); ok {
		gap = max(gap, next.Sub(latest))
	}
	return gap
}
