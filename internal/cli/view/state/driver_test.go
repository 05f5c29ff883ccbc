// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/utils/ptr"

	"mapcontroller.dev/snapshotschedule/internal/cli/clitest"
)

// It is a problem only after two minutes, and somebody who looks sooner should not see nothing.
func TestStatusShowsWhatTheDriverSaysBeforeItIsAProblem(t *testing.T) {
	s := clitest.NewScenario()
	rowOf := func(name string) (row ClaimStatus) {
		for _, row = range StatusOf(s.Tiers, s.Inv, s.Now).PersistentVolumeClaims {
			if row.Name == name {
				return row
			}
		}
		t.Fatalf("no row of %s", name)
		return row
	}
	for _, o := range s.Inv.Snapshots["shop"] {
		v := o.(*snapshotv1.VolumeSnapshot)
		if v.Status != nil && ptr.Deref(v.Status.ReadyToUse, false) || s.Now.Sub(v.CreationTimestamp.Time).Hours() > 1 {
			continue
		}
		v.Status = &snapshotv1.VolumeSnapshotStatus{Error: &snapshotv1.VolumeSnapshotError{Message: ptr.To("quota of 100 snapshots exceeded")}}
		row := rowOf(*v.Spec.Source.PersistentVolumeClaimName)
		row.Problems = nil
		if got := row.ProblemWords(s.Now); got != "not ready yet: quota of 100 snapshots exceeded" {
			t.Errorf("%s: %q", row.Name, got)
		}
		return
	}
	t.Fatal("no snapshot is in progress")
}
