// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// The smallest cases of what an operator with a late cache does under an hourly schedule, beside the simulations.
//
// Contract: GUARD-9.
func TestLateCaches(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.SnapshotScheduleSpec
		run  func(s scenario)
	}{
		"a newer snapshot is ready": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "3h"}, func(s scenario) {
			s.pass(5*time.Hour+time.Minute, s.freeze(kube.Snapshots, 90*time.Minute)) // the one before the newest is the floor
		}},
		"a restore": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "3h"}, func(s scenario) {
			s.pass(2*time.Hour+30*time.Minute, s.freeze(kube.Claims, 5*time.Hour), func() {
				s.create(newClaim("restored", s.snapshots()[0].Name))
			})
		}},
		"newer snapshots that a user has deleted": {v1alpha1.SnapshotScheduleSpec{
			Retention: v1alpha1.Retention{MaxCount: new(int32(3))},
		}, func(s scenario) {
			s.pass(2*time.Hour+50*time.Minute, func() { s.setClocks(2*time.Minute, 0) }) // three snapshots, and nothing is deleted
			s.pass(20*time.Minute, s.freeze(kube.Snapshots, 5*time.Hour), func() {       // four
				for _, gone := range s.snapshots()[1:3] {
					s.delete(kube.Snapshots, gone.Name)
				}
			})
			s.pass(time.Minute, func() { s.setClocks(0, 0) })
		}},
		"a snapshot that covers the slot of a failed one": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "1d"}, func(s scenario) {
			s.pass(5*time.Minute, func() { s.driver.modes["data"] = down })
			s.pass(115*time.Minute-10*time.Second, s.freeze(kube.Snapshots, 5*time.Hour))
			s.pass(20*time.Second, func() {
				like := s.snapshots()[0].DeepCopy()
				like.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: new("content")}
				like.Annotations = map[string]string{
					v1alpha1.AnnotationScheduledAt: time.Now().Truncate(time.Hour / 2).UTC().Format(time.RFC3339),
				}
				s.createSnapshot("successor", like, like.OwnerReferences)
			})
		}},
		"a backup tool's copy of a snapshot that was replaced": {v1alpha1.SnapshotScheduleSpec{
			Retention: v1alpha1.Retention{MinReady: new(int32(0)), Keep: v1alpha1.Keep{Weekly: 3}},
		}, func(s scenario) {
			var old *snapshotv1.VolumeSnapshot
			s.pass(30*time.Minute, func() { old = s.snapshots()[0] })
			s.pass(time.Hour, func() { s.createSnapshot(old.Name, old, nil) }) // the next one has replaced it
		}},
		"an older status of the schedule": {v1alpha1.SnapshotScheduleSpec{}, func(s scenario) {
			s.pass(3*time.Hour+time.Second, s.freeze(kube.Schedules, 5*time.Hour)) // status says 4 snapshots, 3 ready
			s.pass(90*time.Minute, func() {                                        // 5, and 5 ready
				for _, v := range s.snapshots()[:2] {
					s.delete(kube.Snapshots, v.Name)
				}
			})
		}},
		// The operator takes a snapshot for each slot, and sees none of them.
		"a broken watch is overdue": {v1alpha1.SnapshotScheduleSpec{}, func(s scenario) {
			s.pass(90*time.Minute, func() { s.expectReady(v1alpha1.ReasonScheduled) }, s.freeze(kube.Snapshots, 4*time.Hour))
			s.pass(time.Hour, func() { s.expectReady(v1alpha1.ReasonScheduled) }) // one slot
			s.pass(50 * time.Minute)                                              // the second; every key is reconciled in a quarter of an hour
			for range 60 {                                                        // beyond the third
				s.pass(time.Minute, func() { s.expectReady(v1alpha1.ReasonSnapshotsFailing) })
			}
			if p := s.schedule("plan").Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonSnapshotOverdue {
				t.Errorf("problems are %+v", p)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			test.spec.SnapshotInterval = "1h"
			runScenario(t, start, test.spec, func(s scenario) {
				test.run(s)
				s.pass(0, func() { clear(s.driver.modes) })
				s.pass(8*time.Hour, func() { s.expectReady(v1alpha1.ReasonScheduled) })
			})
		})
	}
}
