// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
)

// The storage has no place for a snapshot of the present data: that is said before step 1.
//
// Contract: BACK-4.
func TestAFullVolumeRefusesTheRollbackBeforeItBegins(t *testing.T) {
	s := newCluster(t, 2, false)
	o := s.observe()
	o.Claims[0].Full = "class fast allows 3 snapshots of a volume, and there are 3: a, b, c"
	if _, err := Next(o); err == nil || !strings.Contains(err.Error(), "allows 3 snapshots") || !strings.Contains(err.Error(), "--skip-safety-snapshot") {
		t.Errorf("got %v", err)
	}
	o = s.observe()
	o.Claims[0].Full, o.SkipSafety = "full", true
	if step, err := Next(o); err != nil || step.Number != 1 {
		t.Errorf("with --skip-safety-snapshot: step %d, %v", step.Number, err)
	}
	for _, v := range s.snapshots() {
		if v.Labels["snapshots.mapcontroller.dev/rollback"] != "" {
			t.Errorf("%s was taken", v.Name)
		}
	}
}

// With --skip-safety-snapshot, no snapshot of the present data is taken, and the plan says where its only copy is.
//
// Contract: BACK-4.
func TestARollbackWithoutASafetySnapshotKeepsTheDataOnItsVolume(t *testing.T) {
	s := newCluster(t, 2, false)
	s.broken = true // the storage takes no snapshot
	planned := ""
	for range 200 {
		s.tick()
		o := s.observe()
		o.SkipSafety = true
		step, err := Next(o)
		s.must(err)
		if step.Number == 0 {
			break
		}
		if planned == "" {
			planned = strings.Join(Plan(o), "\n")
		}
		s.must(s.take(o, step, never))
	}
	if !strings.Contains(planned, "take no snapshot of the present data: PersistentVolume ") || !strings.Contains(planned, "only copy") {
		t.Errorf("the plan is\n%s", planned)
	}
	if left := s.safeties(); len(left) > 0 {
		t.Errorf("%s was taken", left[0].Name)
	}
	for _, claim := range []string{"data-db-0", "data-db-1"} {
		if got := s.content(claim); got != earlier {
			t.Errorf("%s has %q", claim, got)
		}
		if old := s.oldVolumeOf(claim); old == nil || old.Annotations[data] != oldData {
			t.Errorf("the volume with the present data of %s is gone", claim)
		}
	}
}
