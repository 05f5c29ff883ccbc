// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// process is what one run of the command knows, while another one acts.
type process struct {
	own                    *Lock
	undo, scaled, released bool
	began                  time.Time
}

func (s *cluster) process() process { return process{s.own, s.undo, s.scaled, s.released, s.began} }

func (s *cluster) resume(p process) {
	s.own, s.undo, s.scaled, s.released, s.began = p.own, p.undo, p.scaled, p.released, p.began
}

// meanwhile has another run undo the rollback.
func (s *cluster) meanwhile() process {
	stalled := s.process()
	s.undoAll()
	s.now = s.now.Add(3 * time.Hour)
	s.unchecked = true
	return stalled
}

// act takes steps until the run ends. It returns why.
func (s *cluster) act() error {
	for range 200 {
		s.now = s.now.Add(time.Second)
		s.tick()
		if done, err := s.step(never); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("it does not end")
}

// untouched returns an error unless the PVCs have the data from before, and nothing is left of the rollback.
func (s *cluster) untouched() error {
	s.settle()
	s.undo = true
	return s.finished(oldData)
}

// A run stands still, like the laptop it runs on, while its rollback is undone elsewhere. It never begins it again.
//
// Contract: BACK-3.
func TestARunWhoseRollbackWasUndoneEnds(t *testing.T) {
	for number := 2; number <= 9; number++ {
		s := newCluster(t, 2, false)
		s.advance(number)
		s.resume(s.meanwhile())
		if err := s.act(); err == nil || !strings.Contains(err.Error(), "it was undone or ended elsewhere") {
			t.Errorf("step %d: it ends with %v", number, err)
		}
		if err := s.untouched(); err != nil {
			t.Errorf("step %d: %v", number, err)
		}
	}
}

// The other run has ended the rollback as this one was to.
func TestARunWhoseRollbackWasFinishedElsewhereEndsAsFinished(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(5)
	stalled := s.process()
	s.restart()
	s.advance(0)
	s.resume(stalled)
	if err := s.act(); err != nil {
		t.Error(err)
	}
	s.settle()
	if err := s.finished(earlier); err != nil {
		t.Error(err)
	}
}

// It has read the volumes before the rollback was undone, and the workload afterwards.
func TestARunThatReadsWhileItsRollbackIsUndoneEnds(t *testing.T) {
	for number := 4; number <= 9; number++ {
		s := newCluster(t, 2, false)
		s.advance(number)
		o := s.observe()
		s.resume(s.meanwhile())
		o.Workload = NewWorkload(s.set())
		if step, err := Next(o); err == nil {
			s.must(s.take(o, step, never))
		}
		if err := s.act(); err == nil {
			t.Errorf("step %d: it goes on", number)
		}
		if err := s.untouched(); err != nil {
			t.Errorf("step %d: %v", number, err)
		}
	}
}

// A run has decided to delete the old PVC and stands still. The undo leaves that PVC in place and gives its volume the
// reclaim policy Delete back: with the PVC, all data would go.
//
// Contract: BACK-3.
func TestAStalledRunDeletesNothingOfAnUndoneRollback(t *testing.T) {
	for name, after := range map[string]bool{"before it renews its lock": false, "after it has renewed its lock": true} {
		for _, what := range []string{"data-db-0;", "data-db-1;", "data-db-0-rollback-"} {
			t.Run(name+", "+what, func(t *testing.T) {
				s := newCluster(t, 2, false)
				var o *State
				var step Step
				for i := 0; !strings.HasPrefix(step.Text, "Delete PersistentVolumeClaim "+what); i++ {
					if i > 0 {
						s.must(s.take(o, step, never))
					}
					s.now = s.now.Add(time.Second)
					s.tick()
					o = s.observe()
					var err error
					if step, err = Next(o); err != nil || i > 200 {
						t.Fatal(err)
					}
				}
				if after {
					for _, c := range step.Renewals {
						s.apply(c)
					}
					step.Renewals = nil
				}
				s.resume(s.meanwhile())
				s.must(s.take(o, step, never))
				for _, pod := range s.pods() { // those of the PVC are replaced, and the PVC's finalizer goes
					s.must(s.delete(pod))
				}
				s.tickClaims()
				s.tickVolumes()
				if err := s.act(); err == nil {
					t.Error("it goes on")
				}
				if err := s.untouched(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
