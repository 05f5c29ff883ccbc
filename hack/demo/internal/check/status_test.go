// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

func TestStatus(t *testing.T) {
	status := func(change func(*v1alpha1.SnapshotScheduleStatus)) func(*record.World) {
		return func(w *record.World) { change(&w.Schedule.Status) }
	}
	try(t, func(w record.World) Result { return Status(w, terms) },
		trial{"well", asItIs, ""},
		trial{"no schedule", func(w *record.World) { w.Schedule = nil }, "there is no schedule"},
		trial{"old", func(w *record.World) { w.Schedule.Generation++ }, "of generation 2, not 3"},
		trial{"a PVC too many", status(func(s *v1alpha1.SnapshotScheduleStatus) {
			s.Inputs.PersistentVolumeClaims.Total++
		}), "it counts 3 PVCs; there are 2"},
		trial{"a snapshot too few", status(func(s *v1alpha1.SnapshotScheduleStatus) {
			s.Outputs.VolumeSnapshots.Ready--
		}), "it counts 7 ready snapshots; there are 8"},
		trial{"not ready", status(func(s *v1alpha1.SnapshotScheduleStatus) {
			s.Conditions[0].Status = metav1.ConditionFalse
		}), "condition Ready is False"},
		trial{"no condition", status(func(s *v1alpha1.SnapshotScheduleStatus) {
			s.Conditions = nil
		}), "condition Ready is missing"},
		trial{"a problem", status(func(s *v1alpha1.SnapshotScheduleStatus) {
			s.Problems = []v1alpha1.Problem{{PersistentVolumeClaim: "b", Reason: "CreateFailed", Message: "why"}}
		}), "problem CreateFailed of b: why"},
	)
}

func TestDetached(t *testing.T) {
	count := func(keys, snapshots int32) func(*record.World) {
		return func(w *record.World) {
			w.Schedule.Status.Detached = v1alpha1.Detached{MapKeys: keys, VolumeSnapshots: snapshots}
		}
	}
	try(t, func(w record.World) Result { return Detached(w, 1) },
		trial{"well", count(1, 4), ""},
		trial{"none", asItIs, "mapKeys 0"},
		trial{"two", count(2, 8), "mapKeys 2"},
		trial{"no snapshots", count(1, 0), "volumesnapshots 0"},
		trial{"no schedule", func(w *record.World) { w.Schedule = nil }, "there is no schedule"},
	)
	try(t, func(w record.World) Result { return Detached(w, 0) },
		trial{"none any more", asItIs, ""},
		trial{"still one", count(1, 1), "mapKeys 1"},
	)
}

func TestManyFaultsAreSummedUp(t *testing.T) {
	var wrong faults
	for range 5 {
		wrong.add("bad")
	}
	if r := wrong.result("n", "e", "good"); r.OK || r.Seen != "bad; bad; bad; and 2 more" {
		t.Errorf("%+v", r)
	}
}
