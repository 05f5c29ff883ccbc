// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func shapeOf(t *testing.T, change func(*snapshotv1.VolumeSnapshot), words ...string) string {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	owner := Schedule(words[0], "schedule", now, v1alpha1.SnapshotScheduleSpec{})
	s := Snapshot(owner, Claim(words[0], words[1], now), now)
	s.ResourceVersion = words[2]
	change(s)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := shape(text)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestShapeLeavesOutWhatVaries(t *testing.T) {
	same := func(*snapshotv1.VolumeSnapshot) {}
	one, other := shapeOf(t, same, "a", "claim-00001", "7"), shapeOf(t, same, "bb", "claim-00002", "1234")
	if one != other {
		t.Errorf("they differ:\n%s\n%s", one, other)
	}
}

func TestShapeShowsDifferences(t *testing.T) {
	one := shapeOf(t, func(*snapshotv1.VolumeSnapshot) {}, "a", "claim-00001", "7")
	for name, change := range map[string]func(*snapshotv1.VolumeSnapshot){
		"a label less":    func(s *snapshotv1.VolumeSnapshot) { clear(s.Labels) },
		"another manager": func(s *snapshotv1.VolumeSnapshot) { s.ManagedFields[0].Manager = "x" },
		"no owner":        func(s *snapshotv1.VolumeSnapshot) { s.OwnerReferences = nil },
		"one entry less":  func(s *snapshotv1.VolumeSnapshot) { s.ManagedFields = s.ManagedFields[:1] },
		"an odd name":     func(s *snapshotv1.VolumeSnapshot) { s.Name = "x" },
	} {
		if shapeOf(t, change, "a", "claim-00001", "7") == one {
			t.Errorf("%s: the same shape", name)
		}
	}
}
