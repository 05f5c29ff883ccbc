// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshots

import (
	"fmt"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/retention"
)

// Drills are the drills of a PVC: restores of its snapshots to try them.
type Drills struct {
	// Verified is the last success, zero if there was none.
	Verified time.Time
	// Failed is the last drill if it failed, of whichever snapshot; without a Reason, it did not.
	Failed Problem
}

// drillsOf returns what the snapshots of a PVC show of its drills. Of two drills at the same time
// one that failed is the last.
func drillsOf(outputs []client.Object, series []retention.Snapshot, now time.Time) (d Drills) {
	var last time.Time
	failed := -1
	for i := range series {
		at, verified := series[i].Drill(now)
		if verified && at.After(d.Verified) {
			d.Verified = at
		}
		switch {
		case at.IsZero():
		case at.After(last), at.Equal(last) && !verified:
			last, failed = at, i
			if verified {
				failed = -1
			}
		}
	}
	if failed >= 0 {
		v := outputs[failed].(*snapshotv1.VolumeSnapshot)
		d.Failed = Problem{
			Reason:  v1alpha1.ReasonVerificationFailed,
			Message: fmt.Sprintf("the last drill failed, of VolumeSnapshot %s: %s", v.Name, backup.FailedDrillOf(v).Words()),
		}
	}
	return d
}
