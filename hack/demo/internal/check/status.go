// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/hack/demo/internal/record"
)

// Detached: the status counts the snapshots of so many PVCs that are gone.
func Detached(w record.World, mapKeys int) Result {
	var wrong faults
	seen := "no schedule"
	if w.Schedule == nil {
		wrong.add("there is no schedule")
	} else {
		d := w.Schedule.Status.Detached
		seen = fmt.Sprintf("status.detached: mapKeys %d, volumesnapshots %d", d.MapKeys, d.VolumeSnapshots)
		if int(d.MapKeys) != mapKeys || (mapKeys == 0) != (d.VolumeSnapshots == 0) {
			wrong.add("%s", seen)
		}
	}
	expected := fmt.Sprintf("status says so too, and counts %d PVC that is gone", mapKeys)
	if mapKeys == 0 {
		expected = "status counts none any more"
	}
	return wrong.result("status-detached", expected, seen)
}

// Status: what the schedule says of itself is what is there. Status lags by
// some seconds; so this holds at some moment, not at every one.
func Status(w record.World, t Terms) Result {
	var wrong faults
	if w.Schedule == nil {
		wrong.add("there is no schedule")
		return wrong.result("status", "the schedule's status tells what is there", "")
	}
	s := &w.Schedule.Status
	if s.ObservedGeneration != w.Schedule.Generation {
		wrong.add("it is of generation %d, not %d", s.ObservedGeneration, w.Schedule.Generation)
	}
	ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.Reason != v1alpha1.ReasonScheduled {
		wrong.add("condition Ready is %s", describe(ready))
	}
	claims, usable := 0, 0
	for _, name := range t.Selected {
		if c := w.Claim(name); c != nil && c.Gone.IsZero() {
			claims++
		}
		usable += len(w.Usable(name))
	}
	if int(s.Inputs.PersistentVolumeClaims.Total) != claims {
		wrong.add("it counts %d PVCs; there are %d", s.Inputs.PersistentVolumeClaims.Total, claims)
	}
	if int(s.Outputs.VolumeSnapshots.Ready) != usable {
		wrong.add("it counts %d ready snapshots; there are %d", s.Outputs.VolumeSnapshots.Ready, usable)
	}
	if len(s.Problems) > 0 {
		wrong.add("problem %s of %s: %s", s.Problems[0].Reason, s.Problems[0].PersistentVolumeClaim, s.Problems[0].Message)
	}
	good := fmt.Sprintf("Ready=True (%s), %d PVCs, %d ready snapshots, no problems", v1alpha1.ReasonScheduled, claims, usable)
	return wrong.result("status", "the schedule's status tells what is there", good)
}

func describe(c *metav1.Condition) string {
	if c == nil {
		return "missing"
	}
	return fmt.Sprintf("%s (%s: %s)", c.Status, c.Reason, c.Message)
}
