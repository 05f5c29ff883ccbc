// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package builders

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func TestSnapshotNamesDifferByScheduleClaimAndSlot(t *testing.T) {
	c := Existing(Claim("n", "data", nil), "c", time.Time{})
	other := Existing(Claim("n", "data", nil), "d", time.Time{})
	slot := time.Unix(1_700_000_000, 0)
	names := map[string]bool{
		SnapshotName("s", c, slot): true, SnapshotName("t", c, slot): true, SnapshotName("s", other, slot): true,
		SnapshotName("s", c, slot.Add(time.Second)): true,
	}
	if len(names) != 4 || !names[SnapshotName("s", c, slot.UTC())] {
		t.Errorf("%v", names)
	}
}

func TestSnapshotBelongsToItsScheduleAndClaim(t *testing.T) {
	created := time.Unix(1_700_000_000, 999)
	s := Existing(Schedule("n", "nightly", v1alpha1.SnapshotScheduleSpec{}), "s", created)
	c := Existing(BoundClaim("n", "data", "pv", map[string]string{"app": "db"}), "c", created)
	if c.Status.Phase != corev1.ClaimBound || c.CreationTimestamp.Nanosecond() != 0 || c.Generation != 1 {
		t.Errorf("%+v", c)
	}
	v := Snapshot(s, c, created)
	if !metav1.IsControlledBy(v, s) || v.Labels[v1alpha1.LabelMapKey] != "c" || *v.Spec.Source.PersistentVolumeClaimName != "data" ||
		v.Annotations[v1alpha1.AnnotationScheduledAt] != "2023-11-14T22:13:20Z" || v.Name != SnapshotName("s", c, created) {
		t.Errorf("%+v", v)
	}
}
