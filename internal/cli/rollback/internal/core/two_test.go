// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/cli/change"
)

// terminal is where one user runs the command, again after errors.
type terminal struct {
	process
	// step was decided from what was read, and is not taken yet: the run stands still.
	step *Step
	read *State
	// ended is set once it is not run again, and success if the last run has ended with success. since and until are
	// the acts in which that run has begun and ended.
	ended, success bool
	since, until   int
}

func (s *cluster) newTerminal(undo bool) *terminal {
	return &terminal{process: process{began: s.now, undo: undo}}
}

// act decides a step, or takes the one that was decided.
func (r *terminal) act(s *cluster, act int, between func() bool) error {
	s.resume(r.process)
	defer func() { r.process = s.process() }()
	if r.step != nil {
		step := *r.step
		r.step = nil
		return s.take(r.read, step, between)
	}
	if r.own == nil {
		s.runs++
		r.since = act
	}
	r.read = s.observe()
	step, err := Next(r.read)
	if err == nil && step.Number == 0 {
		r.ended, r.success, r.until = true, true, act
	} else if err == nil {
		r.step = &step
	}
	deletes := slices.ContainsFunc(step.Changes, func(c change.Change) bool { return c.Delete != nil })
	if r.own == nil && !deletes && r.step != nil { // its lock may not be renewed: what it creates or holds would be left
		r.step = nil
		return s.take(r.read, step, never)
	}
	return err
}

// said returns an error unless the PVCs have the data that a run has said, while no other one has begun after its end.
func (r *terminal) said(s *cluster, others ...*terminal) bool {
	if !r.success || slices.ContainsFunc(others, func(other *terminal) bool { return other.since > r.until }) {
		return true
	}
	want := earlier
	if r.undo {
		want = oldData
	}
	for _, name := range []string{"data-db-0", "data-db-1"} {
		p := s.pvcs()[name]
		if v := s.observe().bound(p); v == nil || v.Annotations[data] != want || p.DeletionTimestamp != nil {
			return false
		}
	}
	return true
}

// One user runs the command in two terminals, one of which may undo. Each may be killed and run again, or stand still anywhere while
// the other one goes on. Whatever the order of their steps, nothing is lost, whoever runs it last finishes it, and what a run has
// said that ended with success stays so, unless another one is started afterwards.
//
// Contract: BACK-3.
func TestTwoRunsAtOnceLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newCluster(t, 2, rapid.Bool().Draw(t, "waits for consumer"))
		chance := func(name string, percent int) bool { return rapid.IntRange(0, 99).Draw(t, name) < percent }
		runs, acts := []*terminal{s.newTerminal(false), s.newTerminal(rapid.Bool().Draw(t, "the second one undoes"))}, 0
		var act func(i int, nested bool)
		act = func(i int, nested bool) {
			s.now = s.now.Add(time.Second)
			if acts++; rapid.Bool().Draw(t, "tick") {
				s.tick()
			}
			r, other := runs[i], runs[1-i]
			if r.ended {
				return
			}
			deletes := r.step != nil && slices.ContainsFunc(r.step.Changes, func(c change.Change) bool { return c.Delete != nil })
			err := r.act(s, acts, func() bool {
				if !nested && deletes && chance("stalls", 10) { // in other steps something may be left, such as a hold for 24 h
					stalled := s.process()
					for range rapid.IntRange(1, 80).Draw(t, "acts meanwhile") {
						act(1-i, true)
					}
					s.resume(stalled)
				}
				return chance("kill", 3)
			})
			if err != nil {
				*r = *s.newTerminal(r.undo)
				r.ended = errors.Is(err, ErrEnded) || chance("gives up", 50)
			}
			if err := s.safe(); err != nil {
				t.Fatal(err)
			}
			if !r.said(s, other) || !other.said(s, r) {
				t.Fatalf("a run has ended with success, and what it has said is not so")
			}
		}
		for range 150 {
			act(rapid.IntRange(0, 1).Draw(t, "run"), false)
		}
		last := s.newTerminal(false)
		if lock, err := s.observe().Underway([]string{"data-db-0", "data-db-1"}); err != nil {
			t.Fatal(err)
		} else if lock != nil {
			last.undo = lock.Undo != ""
			for i := 0; !last.ended; i++ {
				s.now = s.now.Add(time.Second)
				s.tick()
				if err := last.act(s, acts+i, never); err != nil || i > 500 {
					t.Fatalf("the last run: %v", err)
				}
			}
		}
		s.settle()
		if !last.said(s) {
			t.Fatal("what the last run has said is not so")
		}
		want := s.volumes()[s.pvcs()["data-db-0"].Spec.VolumeName].Annotations[data]
		if err := s.finished(want); err != nil {
			t.Fatal(err)
		}
	})
}
