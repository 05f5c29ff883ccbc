// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"testing"
	"time"
)

// withoutWorkload takes all steps that are left, in a new run, while there is no workload.
func (s *cluster) withoutWorkload() {
	s.restart()
	s.stepsWithoutWorkload(never)
}

// stepsWithoutWorkload takes all steps while there is no workload, unless the run is killed before one of its writes.
func (s *cluster) stepsWithoutWorkload(killed func() bool) {
	dead := false
	for range 200 {
		s.now = s.now.Add(time.Second)
		s.tick()
		o := s.observe()
		o.Workload = nil
		step, err := Next(o)
		s.must(err)
		if step.Number == 0 {
			return
		}
		s.must(s.take(o, step, func() bool {
			dead = dead || killed()
			return dead
		}))
		if dead {
			return
		}
	}
	s.tb.Fatal("it does not end")
}

// content returns what is on the volume of a PVC.
func (s *cluster) content(claim string) string {
	p := s.pvcs()[claim]
	if p == nil || s.volumes()[p.Spec.VolumeName] == nil {
		return "there is no PVC with a volume"
	}
	return s.volumes()[p.Spec.VolumeName].Annotations[data]
}

// An application that somebody uninstalls after it was scaled to 0 takes its workload, and the note on it, along. The PVCs are gone, and only
// the records on the volumes know of the rollback.
//
// Contract: BACK-3.
func TestARollbackWhoseWorkloadIsGoneGoesOn(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(7) // the PVCs are deleted
	s.withoutWorkload()
	for _, claim := range []string{"data-db-0", "data-db-1"} {
		if got := s.content(claim); got != earlier {
			t.Errorf("%s: %q, want the earlier data", claim, got)
		}
	}
	s.undo = true
	s.withoutWorkload()
	for _, claim := range []string{"data-db-0", "data-db-1"} {
		if got := s.content(claim); got != oldData {
			t.Errorf("%s: %q after the undo, want the old data", claim, got)
		}
	}
	if *s.set().Spec.Replicas != 0 {
		t.Error("a workload that is gone was scaled")
	}
}

// Neither a workload nor a PVC can have the note of the undo.
//
// Contract: BACK-3.
func TestARollbackIsUndoneWhileThereIsNeitherWorkloadNorPVC(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(7) // the PVCs are deleted
	s.undo = true
	s.withoutWorkload()
	for _, claim := range []string{"data-db-0", "data-db-1"} {
		if got := s.content(claim); got != oldData {
			t.Errorf("%s: %q, want the old data", claim, got)
		}
	}
}

// Of PVCs that no workload uses, only PVCs and records have the note. Killed after each of its writes, a rollback goes on or is undone.
//
// Contract: BACK-3.
func TestARollbackWithoutAWorkloadIsKilledAfterEachWrite(t *testing.T) {
	for _, undo := range []bool{false, true} {
		writes, killed := 1, true // before the first one, nothing has begun
		for ; killed; writes++ {
			s := newCluster(t, 2, false)
			set := s.set()
			*set.Spec.Replicas, s.raised = 0, 0
			s.must(s.update(set))
			s.settle()
			left := writes
			killed = false
			s.stepsWithoutWorkload(func() bool {
				killed = killed || left == 0
				left--
				return killed
			})
			if s.undo = undo; killed {
				s.withoutWorkload()
			}
			want := earlier
			if undo {
				want = oldData
			}
			for _, claim := range []string{"data-db-0", "data-db-1"} {
				if got := s.content(claim); killed && got != want {
					t.Fatalf("undo %v, killed before write %d: %s has %q", undo, writes, claim, got)
				}
			}
		}
		if writes < 20 {
			t.Errorf("only %d writes", writes)
		}
	}
}
