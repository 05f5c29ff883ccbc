// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle

import (
	"slices"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestQueries(t *testing.T) {
	schedule, claim := newSchedule("every"), newClaim("data")
	old, recent, newest := ready("old", 11*day), ready("recent", day), ready("newest", time.Hour)
	all := []client.Object{schedule, claim, old, recent, newest}
	if left := Overdue(all, noon); !slices.Equal(left, []string{"old"}) {
		t.Errorf("left are %q, want the expired one", left)
	}
	if left := Overdue(all[:3], noon); len(left) > 0 {
		t.Errorf("left are %q, and that is the floor", left)
	}
	for s, want := range map[*snapshotv1.VolumeSnapshot]bool{old: true, recent: false, newest: false} {
		if may, why := MayDelete(all, s, noon); may != want {
			t.Errorf("%s may be deleted: %t (%s), want %t", s.Name, may, why, want)
		}
	}
	if at := Slot(newest); !at.Equal(noon.Add(-time.Hour)) {
		t.Errorf("the slot is %s", at)
	}
	newest.Annotations = nil
	if at := Slot(newest); !at.IsZero() {
		t.Errorf("the slot of one that tells none is %s", at)
	}
}
