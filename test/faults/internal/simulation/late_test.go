// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/simulation/kube"
)

// hourly is a world with a PVC, and a schedule that takes a snapshot of it every hour.
type hourly struct {
	*world
	t *testing.T
}

func (h hourly) pass(d time.Duration, do ...func()) {
	time.Sleep(d)
	for _, do := range do {
		h.locked(do)
	}
}

func (h hourly) freeze(k kube.Kind, d time.Duration) func() {
	return func() { h.operators[0].frozen[k] = time.Now().Add(d) }
}

func (h hourly) expectReady(reason string) {
	h.t.Helper()
	if c := meta.FindStatusCondition(h.schedule("plan").Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != reason {
		h.t.Errorf("%s: condition Ready is %+v, want reason %s", time.Since(start), c, reason)
	}
}

// The smallest cases of what an operator with a late cache does, beside the simulations.
//
// Contract: GUARD-9.
func TestLateCaches(t *testing.T) {
	for name, test := range map[string]struct {
		spec v1alpha1.SnapshotScheduleSpec
		run  func(h hourly)
	}{
		"a newer snapshot is ready": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "3h"}, func(h hourly) {
			h.pass(5*time.Hour+time.Minute, h.freeze(kube.Snapshots, 90*time.Minute)) // the one before the newest is the floor
		}},
		"a restore": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "3h"}, func(h hourly) {
			h.pass(2*time.Hour+30*time.Minute, h.freeze(kube.Claims, 5*time.Hour), func() {
				h.create(&corev1.PersistentVolumeClaim{
					ObjectMeta: metav1.ObjectMeta{Name: "restored"},
					Spec: corev1.PersistentVolumeClaimSpec{DataSource: &corev1.TypedLocalObjectReference{
						APIGroup: new(snapshotv1.GroupName), Kind: "VolumeSnapshot", Name: h.snapshots()[0].Name,
					}},
				})
			})
		}},
		"newer snapshots that a user has deleted": {v1alpha1.SnapshotScheduleSpec{
			Retention: v1alpha1.Retention{MaxCount: new(int32(3))},
		}, func(h hourly) {
			h.pass(2*time.Hour+50*time.Minute, func() { h.setClocks(2*time.Minute, 0) }) // three snapshots, and nothing is deleted
			h.pass(20*time.Minute, h.freeze(kube.Snapshots, 5*time.Hour), func() {       // four
				for _, gone := range h.snapshots()[1:3] {
					h.delete(kube.Snapshots, gone.Name)
				}
			})
			h.pass(time.Minute, func() { h.setClocks(0, 0) })
		}},
		"a snapshot that covers the slot of a failed one": {v1alpha1.SnapshotScheduleSpec{SnapshotTTL: "1d"}, func(h hourly) {
			h.pass(5*time.Minute, func() { h.driver.modes["data"] = down })
			h.pass(115*time.Minute-10*time.Second, h.freeze(kube.Snapshots, 5*time.Hour))
			h.pass(20*time.Second, func() {
				like := h.snapshots()[0].DeepCopy()
				like.Spec.Source = snapshotv1.VolumeSnapshotSource{VolumeSnapshotContentName: new("content")}
				like.Annotations = map[string]string{
					v1alpha1.AnnotationScheduledAt: time.Now().Truncate(time.Hour / 2).UTC().Format(time.RFC3339),
				}
				h.createSnapshot("successor", like, like.OwnerReferences)
			})
		}},
		"a backup tool's copy of a snapshot that was replaced": {v1alpha1.SnapshotScheduleSpec{
			Retention: v1alpha1.Retention{MinReady: new(int32(0)), Keep: v1alpha1.Keep{Weekly: 3}},
		}, func(h hourly) {
			var old *snapshotv1.VolumeSnapshot
			h.pass(30*time.Minute, func() { old = h.snapshots()[0] })
			h.pass(time.Hour, func() { h.createSnapshot(old.Name, old, nil) }) // the next one has replaced it
		}},
		"an older status of the schedule": {v1alpha1.SnapshotScheduleSpec{}, func(h hourly) {
			h.pass(3*time.Hour+time.Second, h.freeze(kube.Schedules, 5*time.Hour)) // status says 4 snapshots, 3 ready
			h.pass(90*time.Minute, func() {                                        // 5, and 5 ready
				for _, v := range h.snapshots()[:2] {
					h.delete(kube.Snapshots, v.Name)
				}
			})
		}},
		// The operator takes a snapshot for each slot, and sees none of them.
		"a broken watch is overdue": {v1alpha1.SnapshotScheduleSpec{}, func(h hourly) {
			h.pass(90*time.Minute, func() { h.expectReady(v1alpha1.ReasonScheduled) }, h.freeze(kube.Snapshots, 4*time.Hour))
			h.pass(time.Hour, func() { h.expectReady(v1alpha1.ReasonScheduled) }) // one slot
			h.pass(50 * time.Minute)                                              // the second, and a quarter of an hour, after which every key is reconciled
			for range 60 {                                                        // beyond the third
				h.pass(time.Minute, func() { h.expectReady(v1alpha1.ReasonSnapshotsFailing) })
			}
			if p := h.schedule("plan").Status.Problems; len(p) != 1 || p[0].Reason != v1alpha1.ReasonSnapshotOverdue {
				t.Errorf("problems are %+v", p)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func() {
				h := hourly{newWorld(start, 1, options{statusInterval: 5 * time.Second}), t}
				defer h.end()
				h.locked(func() {
					h.bindClaim("data", h.create(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}}).GetUID())
					test.spec.SnapshotInterval = "1h"
					h.create(&v1alpha1.SnapshotSchedule{ObjectMeta: metav1.ObjectMeta{Name: "plan"}, Spec: test.spec})
					h.start(h.listLag)
				})
				test.run(h)
				h.pass(0, func() { clear(h.driver.modes) })
				h.pass(8*time.Hour, func() { h.expectReady(v1alpha1.ReasonScheduled) })
				for _, f := range h.judge.Found() {
					t.Error(f)
				}
			})
		})
	}
}
