// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func TestProtectedReason(t *testing.T) {
	const (
		old     = v1alpha1.ReasonRecoveryPointsOld
		current = v1alpha1.ReasonRecoveryPointsCurrent
		pending = v1alpha1.ReasonFirstSnapshotsPending
	)
	type change func(*v1alpha1.SnapshotSchedule, *corev1.PersistentVolumeClaim)
	type snapshots []*snapshotv1.VolumeSnapshot
	created := func(ago time.Duration) change {
		return func(_ *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) {
			c.CreationTimestamp.Time = noon.Add(-ago)
		}
	}
	unbound := func(_ *v1alpha1.SnapshotSchedule, c *corev1.PersistentVolumeClaim) {
		c.Status.Phase = corev1.ClaimPending
	}
	// It delays the slots by 694 seconds.
	jitter := func(s *v1alpha1.SnapshotSchedule, _ *corev1.PersistentVolumeClaim) { s.Spec.Jitter = "1h" }
	// The schedule has slots each 6h, the latest one at noon.
	for name, tc := range map[string]struct {
		change    change
		snapshots snapshots
		want      string
	}{
		"the latest slot":          {snapshots: snapshots{ready("a", 0)}, want: current},
		"the slot before":          {snapshots: snapshots{ready("a", 6*time.Hour)}, want: current},
		"two slots before":         {snapshots: snapshots{ready("a", 12*time.Hour)}, want: old},
		"none":                     {want: old},
		"one that is not ready":    {snapshots: snapshots{newSnapshot("a", noon)}, want: old},
		"none yet":                 {change: created(59 * time.Minute), want: pending},
		"none after readyDeadline": {change: created(time.Hour), want: old},
		"one that was taken before the PVC": {change: created(time.Minute),
			snapshots: snapshots{ready("a", time.Hour)}, want: pending},
		"an imported one, of a slot":   {snapshots: snapshots{imported(ready("a", 0))}, want: current},
		"a PVC that is not bound":      {change: unbound, want: v1alpha1.ReasonNoMatchingClaims},
		"the slot before, with jitter": {change: jitter, snapshots: snapshots{ready("a", 12*time.Hour-694*time.Second)}, want: current},
		"an older one, with jitter":    {change: jitter, snapshots: snapshots{ready("a", 12*time.Hour-693*time.Second)}, want: old},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newSchedule("every"), newClaim("data")
			if tc.change != nil {
				tc.change(s, c)
			}
			objects := []client.Object{s, c}
			for _, v := range tc.snapshots {
				objects = append(objects, v)
			}
			if got := StateOf(objects).protectedReason(s, noon); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
