// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// What a rollback took of the data that it replaced is the newest ready snapshot of the PVC, and of the data that somebody wanted to
// get rid of.
//
// Contract: BACK-4.
func TestNothingThatAsksForTheNewestSnapshotFindsThatOfARollback(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	of := func(name string, age time.Duration, labels map[string]string) snapshotv1.VolumeSnapshot {
		v := snapshotv1.VolumeSnapshot{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(at.Add(-age))}}
		v.Spec.Source.PersistentVolumeClaimName = ptr.To("data")
		v.Status = &snapshotv1.VolumeSnapshotStatus{ReadyToUse: ptr.To(true), CreationTime: ptr.To(v.CreationTimestamp)}
		return v
	}
	all := []snapshotv1.VolumeSnapshot{
		of("good", 2*time.Hour, map[string]string{v1alpha1.LabelMapKey: "uid", v1alpha1.LabelSchedule: "nightly"}),
		of("data-before-1", time.Hour, map[string]string{v1alpha1.LabelRollback: "0123abcd"}),
	}
	found := OfClaim(all, "data", nil)
	if v := Newest(found, at, at); v == nil || v.Name != "good" || len(found) != 1 {
		t.Errorf("the newest of %d is %v", len(found), v)
	}
}
