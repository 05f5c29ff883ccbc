// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
	"mapcontroller.dev/snapshotschedule/internal/snapshots"
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
	step, err := Next(c.observe())
	if err != nil || step.Number != 1 {
		t.Fatal(step.Number, err)
	}
	for _, change := range step.Changes {
		c.apply(change)
	}
	for _, v := range c.snapshots() {
		_, held := snapshots.HeldUntil(v)
		if of := *v.Spec.Source.PersistentVolumeClaimName; of == "data-db-0" && held == (v.Name == uncut.Name) {
			t.Errorf("%s is held: %t", v.Name, held)
		}
	}
}

// Contract: BACK-1.
func TestAHoldThatSomebodySetsMeanwhileStays(t *testing.T) {
	for name, hold := range map[string]string{
		"until a time": noon.Add(40 * 24 * time.Hour).Format(time.RFC3339), "without an end": "audit", "until soon": noon.Add(6 * time.Hour).Format(time.RFC3339),
	} {
		t.Run(name, func(t *testing.T) {
			c, set := newCluster(t, 2, false), false
			held := func() string {
				for _, v := range c.snapshots() {
					_, marked := v.Annotations[v1alpha1.AnnotationHoldBeforeRollback]
					if v.Name != "data-db-0-0" {
						continue
					}
					if marked && !set {
						set, v.Annotations[v1alpha1.AnnotationHold] = true, hold
						c.must(c.update(v))
					}
					return v.Annotations[v1alpha1.AnnotationHold]
				}
				return ""
			}
			for done := false; !done; {
				c.now = c.now.Add(time.Second)
				c.tick()
				held()
				var err error
				if done, err = c.step(func() bool { return false }); err != nil {
					t.Fatal(err)
				}
			}
			if got := held(); !set || got != hold {
				t.Errorf("set: %t; after the rollback the hold is %q, want %q", set, got, hold)
			}
		})
	}
}

// Two PVCs of a group go back one after the other, and the first rollback was interrupted: the group snapshot stays held while
// any of them has no PVC.
//
// Contract: BACK-1.
func TestTheHoldOfAGroupEndsWithTheLastRollback(t *testing.T) {
	c := newCluster(t, 2, false)
	run := func(claim int, until func() bool) {
		c.restart()
		for range 100 {
			c.now = c.now.Add(time.Second)
			c.tick()
			s := c.observe()
			s.Claims = s.Claims[claim : claim+1]
			step, err := Next(s)
			if err != nil {
				t.Fatal(err)
			}
			if step.Number == 0 || until() {
				return
			}
			for _, change := range step.Changes {
				c.apply(change)
			}
			c.scaled = c.scaled || step.Scales
		}
		t.Fatal("it does not end")
	}
	held := func() bool {
		if len(c.groups()) == 0 {
			t.Fatal("retention has deleted it")
		}
		end, _ := snapshots.HeldUntil(c.groups()[0])
		return end.After(c.now)
	}
	never := func() bool { return false }
	run(0, func() bool { return c.pvcs()["data-db-0"] == nil })
	if !held() {
		t.Fatal("the group snapshot is not held while data-db-0 has no PVC")
	}
	run(1, never)
	if !held() {
		t.Error("the rollback of data-db-1 ends the hold of the group snapshot while data-db-0 has no PVC")
	}
	run(0, never)
	if v := c.groups()[0]; len(v.Annotations) > 1 {
		t.Errorf("after both, it has the annotations %v", v.Annotations)
	}
}
