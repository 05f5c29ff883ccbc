// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/cli/term"
	"mapcontroller.dev/snapshotschedule/internal/cli/view"
)

// DrawSpec draws a valid spec.
func DrawSpec(t *rapid.T) v1alpha1.SnapshotScheduleSpec {
	ttl := rapid.SampledFrom([]v1alpha1.Duration{"", "", "1h", "12h", "5d", "40d"})
	few := rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3})
	spec := v1alpha1.SnapshotScheduleSpec{
		Selector:         v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"app": "db"}},
		SnapshotTTL:      ttl.Draw(t, "ttl"),
		Suspend:          rapid.IntRange(0, 5).Draw(t, "suspend") == 0,
		StartingDeadline: rapid.SampledFrom([]v1alpha1.Duration{"", "", "10m"}).Draw(t, "startingDeadline"),
		ReadyDeadline:    rapid.SampledFrom([]v1alpha1.Duration{"", "1d"}).Draw(t, "readyDeadline"),
		Retention: v1alpha1.Retention{
			Keep: v1alpha1.Keep{
				Last: few.Draw(t, "last"), Hourly: few.Draw(t, "hourly"), Daily: few.Draw(t, "daily"),
				Weekly: few.Draw(t, "weekly"), Monthly: few.Draw(t, "monthly"), Yearly: few.Draw(t, "yearly"),
			},
			MaxCount: rapid.SampledFrom([]*int32{nil, nil, ptr.To[int32](1), ptr.To[int32](3), ptr.To[int32](5)}).Draw(t, "maxCount"),
			MinReady: rapid.SampledFrom([]*int32{nil, ptr.To[int32](0), ptr.To[int32](2)}).Draw(t, "minReady"),
			Detached: v1alpha1.DetachedRetention{SnapshotTTL: ttl.Draw(t, "detached ttl"), MinReady: few.Draw(t, "detached minReady")},
		},
	}
	if rapid.Bool().Draw(t, "cron") {
		spec.Schedule = rapid.SampledFrom([]v1alpha1.CronLine{"30 2 * * *", "0 * * * *", "0 0 * * 0"}).Draw(t, "line")
		spec.TimeZone = rapid.SampledFrom([]string{"", "Europe/Oslo"}).Draw(t, "zone")
	} else {
		spec.SnapshotInterval = rapid.SampledFrom([]v1alpha1.Duration{"1h", "6h", "1d"}).Draw(t, "interval")
		spec.Jitter = rapid.SampledFrom([]v1alpha1.Duration{"", "30m"}).Draw(t, "jitter")
	}
	return spec
}

// drawSeries draws the snapshots of one map key, in any state and of any owner,
// and the PVCs of the namespace.
func drawSeries(t *rapid.T, s *v1alpha1.SnapshotSchedule, now time.Time) *view.Series {
	claim := Claim("data", map[string]string{"app": rapid.SampledFrom([]string{"db", "db", "db", "web"}).Draw(t, "app")})
	claim.Status.Phase = rapid.SampledFrom([]corev1.PersistentVolumeClaimPhase{
		corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimBound, corev1.ClaimPending, corev1.ClaimLost,
	}).Draw(t, "phase")
	if rapid.IntRange(0, 7).Draw(t, "claim deleting") == 0 {
		claim.DeletionTimestamp = ptr.To(metav1.NewTime(now.Add(-time.Minute)))
	}
	if rapid.IntRange(0, 4).Draw(t, "requested") == 0 {
		at := now.Add(time.Duration(rapid.IntRange(-72, 72).Draw(t, "requested at")) * time.Hour)
		of := rapid.SampledFrom([]string{"", " data", " other"}).Draw(t, "requested of")
		s.Annotations = map[string]string{v1alpha1.AnnotationRequestedAt: at.Format(time.RFC3339) + of}
	}
	found := &view.Series{MapKey: string(claim.UID), Claim: claim}
	for i := range rapid.IntRange(0, 12).Draw(t, "snapshots") {
		found.Snapshots = append(found.Snapshots, drawSnapshot(t, s, claim, i, now))
	}
	if len(found.Snapshots) > 0 && rapid.IntRange(0, 3).Draw(t, "restore") == 0 {
		restore := Claim("restored", nil)
		restore.Status.Phase = corev1.ClaimPending
		restore.Spec.DataSource = &corev1.TypedLocalObjectReference{
			APIGroup: ptr.To(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: found.Snapshots[0].GetName(),
		}
		found.Restores = []client.Object{restore}
	}
	if rapid.IntRange(0, 4).Draw(t, "gone") == 0 {
		found.Claim = nil
	}
	return found
}

func drawSnapshot(
	t *rapid.T, s *v1alpha1.SnapshotSchedule, claim *corev1.PersistentVolumeClaim, i int, now time.Time,
) *snapshotv1.VolumeSnapshot {
	unit := rapid.SampledFrom([]time.Duration{10 * time.Minute, time.Hour, term.Day, 7 * term.Day}).Draw(t, "unit")
	created := now.Add(-time.Duration(rapid.IntRange(0, 12).Draw(t, "age"))*unit - time.Second)
	v := Snapshot(s, claim, created.Truncate(time.Second))
	v.Name = fmt.Sprintf("s%02d", i*7%13)
	switch rapid.IntRange(0, 9).Draw(t, "state") {
	case 0:
		v.Status = nil
	case 1:
		v.Status.ReadyToUse = ptr.To(false)
	case 2:
		v.Status.ReadyToUse, v.Status.Error = ptr.To(false), &snapshotv1.VolumeSnapshotError{Message: ptr.To("failed")}
	case 3:
		v.Status.CreationTime = ptr.To(metav1.NewTime(time.Unix(0, 0)))
	}
	switch rapid.IntRange(0, 14).Draw(t, "metadata") {
	case 0:
		v.Annotations[v1alpha1.AnnotationHold] = "audit"
	case 1:
		v.DeletionTimestamp, v.Finalizers = ptr.To(metav1.NewTime(now)), []string{"x"}
	case 2:
		delete(v.Annotations, v1alpha1.AnnotationScheduledAt)
	case 3:
		v.Annotations[v1alpha1.AnnotationScheduledAt] = now.Add(term.Day).Format(time.RFC3339)
	case 4:
		v.OwnerReferences = nil // an orphan
	case 5:
		v.OwnerReferences[0].UID = "another"
	}
	return v
}
