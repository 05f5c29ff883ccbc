// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// Time returns the time whose data a snapshot holds. It errs on the late
// side, so that the snapshot of a time holds no later data: the driver may cut a
// snapshot long after it was requested, and the driver's clock may be wrong.
func Time(v *snapshotv1.VolumeSnapshot, now time.Time) time.Time {
	at := v.CreationTimestamp.Time
	if Imported(v) {
		// The object is younger than its data.
		if slot, err := time.Parse(time.RFC3339, v.Annotations[v1alpha1.AnnotationScheduledAt]); err == nil && slot.Before(at) {
			at = slot.UTC()
		}
	}
	if v.Status != nil && v.Status.CreationTime != nil {
		if cut := v.Status.CreationTime.Time; cut.After(at) && !cut.After(now) {
			at = cut
		}
	}
	return at
}

func ready(v *snapshotv1.VolumeSnapshot) bool {
	return v.DeletionTimestamp == nil && v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false)
}

// Newest returns the newest ready snapshot at or before a time, or nil.
func Newest(snapshots []*snapshotv1.VolumeSnapshot, asOf, now time.Time) *snapshotv1.VolumeSnapshot {
	var newest *snapshotv1.VolumeSnapshot
	for _, v := range snapshots {
		if !ready(v) || Time(v, now).After(asOf) {
			continue
		}
		if newest == nil || Time(v, now).After(Time(newest, now)) || Time(v, now).Equal(Time(newest, now)) && v.Name > newest.Name {
			newest = v
		}
	}
	return newest
}

// Choose returns the snapshot of a PVC to restore, or why there is none.
func Choose(snapshots []*snapshotv1.VolumeSnapshot, name string, asOf, now time.Time) (*snapshotv1.VolumeSnapshot, error) {
	if v := Newest(snapshots, asOf, now); v != nil {
		return v, nil
	}
	var first *snapshotv1.VolumeSnapshot
	for _, v := range snapshots {
		if ready(v) && (first == nil || Time(v, now).Before(Time(first, now))) {
			first = v
		}
	}
	switch {
	case first != nil:
		return nil, fmt.Errorf("PersistentVolumeClaim %s has no ready snapshot at or before %s: the oldest ready one is %s, of %s",
			name, formatTime(asOf), first.Name, formatTime(Time(first, now)))
	case len(snapshots) > 0:
		return nil, fmt.Errorf("PersistentVolumeClaim %s has no ready snapshot: it has %d that are not ready", name, len(snapshots))
	}
	return nil, fmt.Errorf("PersistentVolumeClaim %s has no snapshot", name)
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
