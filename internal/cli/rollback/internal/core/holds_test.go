// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v6/apis/volumesnapshot/v1"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/backup"
	"mapcontroller.dev/snapshotschedule/internal/cli/holders"
)

// While an uncut snapshot exists, its PVC cannot be deleted. The operator deletes it with its PVC, but not if it is held.
//
// Contract: BACK-1.
func TestHoldLeavesOutWhatHoldsNoData(t *testing.T) {
	c := newCluster(t, 2, false)
	uncut := c.newSnapshot("data-db-0-uncut", "data-db-0")
	uncut.Labels = map[string]string{v1alpha1.LabelMapKey: string(c.pvcs()["data-db-0"].UID), v1alpha1.LabelSchedule: "weekly"}
	uncut.Status = nil
	c.create(uncut)
	for range 2 { // the lock, and the holds
		if _, err := c.step(never); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range c.snapshots() {
		_, held := backup.HeldUntil(v)
		if of := *v.Spec.Source.PersistentVolumeClaimName; of == "data-db-0" && held == (v.Name == uncut.Name) {
			t.Errorf("%s is held: %t", v.Name, held)
		}
	}
}

// Contract: BACK-1.
func TestAHoldThatSomebodySetsMeanwhileStays(t *testing.T) {
	for name, tc := range map[string]struct{ hold, want string }{
		"until a time":   {hold: "2026-12-31T00:00:00Z", want: "2026-12-31T00:00:00Z"},
		"without an end": {hold: "audit", want: "forever: audit"},
		"until soon":     {hold: "2026-11-21T18:00:00Z", want: "2026-11-21T18:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			c, set := newCluster(t, 2, false), false
			of := func() *snapshotv1.VolumeSnapshot { return byName[*snapshotv1.VolumeSnapshot](c.store)["data-db-0-1"] }
			v := of()
			delete(v.Annotations, v1alpha1.AnnotationHold)
			c.must(c.update(v))
			for done := false; !done; {
				c.now = c.now.Add(time.Second)
				c.tick()
				if v := of(); v.Annotations[v1alpha1.AnnotationHold] != "" && !set {
					set, v.Annotations[v1alpha1.AnnotationHold] = true, tc.hold
					c.must(c.update(v))
				}
				var err error
				if done, err = c.step(never); err != nil {
					t.Fatal(err)
				}
			}
			if got := of().Annotations[v1alpha1.AnnotationHold]; !set || got != tc.want {
				t.Errorf("set: %t; after the rollback the hold is %q, want %q", set, got, tc.want)
			}
		})
	}
}

func never() bool { return false }

// Contract: BACK-1.
func TestHoldsLoseTheirEndBeforeAnythingIsTakenAway(t *testing.T) {
	c := newCluster(t, 2, false)
	c.advance(5)
	for _, v := range c.snapshots() {
		if end, held := backup.HeldUntil(v); v.Labels[v1alpha1.LabelMapKey] != "" && (!held || end.Before(noon.AddDate(100, 0, 0))) {
			t.Errorf("%s is held: %t, until %s", v.Name, held, end)
		}
	}
	c.advance(0)
	for _, v := range c.snapshots() {
		end, _ := backup.HeldUntil(v)
		if target := v.Name == "data-db-0-0" || v.Name == "data-db-1-0"; target != (end.After(noon.Add(holders.For)) && end.Before(noon.Add(holders.For+time.Hour))) {
			t.Errorf("afterwards %s is held until %s", v.Name, end)
		}
	}
}

// The present data may be of a workload that has several PVCs in one group: each group snapshot is held once.
func TestThePlanCountsAGroupSnapshotOnce(t *testing.T) {
	o := newCluster(t, 2, false).observe()
	if _, err := Next(o); err != nil {
		t.Fatal(err)
	}
	if plan := Plan(o)[0]; !strings.HasPrefix(plan, " 1. hold 5 snapshots for 24 h") {
		t.Errorf("it has 4 snapshots and a group snapshot: %s", plan)
	}
}
