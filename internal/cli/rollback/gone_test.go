// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"testing"
	"time"
)

// withoutWorkload takes all steps that are left, while the workload does not exist.
func (s *cluster) withoutWorkload() {
	s.restart()
	for range 100 {
		s.now = s.now.Add(time.Second)
		s.tick()
		o := s.observe()
		o.Workload = nil
		step, err := Next(o)
		s.must(err)
		if step.Number == 0 {
			return
		}
		s.must(s.take(o, step, never))
	}
	s.tb.Fatal("it does not end")
}

// An application that somebody uninstalls after it was scaled to 0 takes its workload, and the note on it, along. The PVCs are gone, and only
// the records on the volumes know of the rollback.
//
// Contract: BACK-3.
func TestARollbackWhoseWorkloadIsGoneGoesOn(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(7) // the PVCs are deleted
	s.withoutWorkload()
	content := func(claim string) string {
		p := s.pvcs()[claim]
		if p == nil || s.volumes()[p.Spec.VolumeName] == nil {
			return "there is no PVC with a volume"
		}
		return s.volumes()[p.Spec.VolumeName].Annotations[data]
	}
	for _, claim := range []string{"data-db-0", "data-db-1"} {
		if got := content(claim); got != earlier {
			t.Errorf("%s: %q, want the earlier data", claim, got)
		}
	}
	s.undo = true
	s.withoutWorkload()
	for _, claim := range []string{"data-db-0", "data-db-1"} {
		if got := content(claim); got != oldData {
			t.Errorf("%s: %q after the undo, want the old data", claim, got)
		}
	}
	if *s.set().Spec.Replicas != 0 {
		t.Error("a workload that is gone was scaled")
	}
}
