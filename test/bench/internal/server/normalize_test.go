// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

func normalized(t *testing.T, change func(*snapshotv1.VolumeSnapshot), words ...string) string {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	owner := Schedule(words[0], "schedule", now, v1alpha1.SnapshotScheduleSpec{})
	s := Snapshot(owner, Claim(words[0], words[1], now), now)
	s.ResourceVersion = words[2]
	change(s)
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := normalize(object)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestNormalizeRemovesVaryingValues(t *testing.T) {
	same := func(*snapshotv1.VolumeSnapshot) {}
	one, other := normalized(t, same, "a", "claim-00001", "7"), normalized(t, same, "bb", "claim-00002", "1234")
	if one != other {
		t.Errorf("they differ:\n%s\n%s", one, other)
	}
}

func TestNormalizeKeepsDifferences(t *testing.T) {
	one := normalized(t, func(*snapshotv1.VolumeSnapshot) {}, "a", "claim-00001", "7")
	for name, change := range map[string]func(*snapshotv1.VolumeSnapshot){
		"no labels":       func(s *snapshotv1.VolumeSnapshot) { clear(s.Labels) },
		"another manager": func(s *snapshotv1.VolumeSnapshot) { s.ManagedFields[0].Manager = "x" },
		"no owner":        func(s *snapshotv1.VolumeSnapshot) { s.OwnerReferences = nil },
		"fewer entries":   func(s *snapshotv1.VolumeSnapshot) { s.ManagedFields = s.ManagedFields[:1] },
		"an odd name":     func(s *snapshotv1.VolumeSnapshot) { s.Name = "x" },
	} {
		if normalized(t, change, "a", "claim-00001", "7") == one {
			t.Errorf("%s: no difference", name)
		}
	}
}
