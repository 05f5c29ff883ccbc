// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// One user runs the command in two terminals, one of which may undo; each may be killed and run again. Whatever the order of
// their steps, nothing is lost, and whoever runs it last finishes it.
//
// Contract: BACK-3.
func TestTwoRunsAtOnceLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newCluster(t, 2, rapid.Bool().Draw(t, "waits for consumer"))
		type run struct {
			own              *Lock
			scaled, released bool
			undo, ended      bool
			began            time.Time
		}
		runs := []*run{{began: s.now}, {began: s.now, undo: rapid.Bool().Draw(t, "the second one undoes")}}
		act := func(r *run) (done bool, err error) {
			s.own, s.scaled, s.released, s.undo, s.began = r.own, r.scaled, r.released, r.undo, r.began
			if r.own == nil {
				s.runs++
			}
			done, err = s.step(func() bool { return rapid.IntRange(0, 99).Draw(t, "kill") < 3 })
			r.own, r.scaled, r.released, r.began, r.ended = s.own, s.scaled, s.released, s.began, done
			return done, err
		}
		for range 150 {
			s.now = s.now.Add(time.Second)
			if rapid.Bool().Draw(t, "tick") {
				s.tick()
			}
			r := runs[rapid.IntRange(0, 1).Draw(t, "run")]
			if r.ended {
				continue
			}
			if _, err := act(r); err != nil {
				*r = run{began: s.now, undo: r.undo, ended: rapid.Bool().Draw(t, "gives up")}
			}
			if err := s.safe(); err != nil {
				t.Fatal(err)
			}
		}
		last := &run{began: s.now}
		if lock, err := s.observe().Underway([]string{"data-db-0", "data-db-1"}); err != nil {
			t.Fatal(err)
		} else if lock != nil {
			last.undo = lock.Undo != ""
			for i := 0; !last.ended; i++ {
				s.now = s.now.Add(time.Second)
				s.tick()
				if _, err := act(last); err != nil || i > 300 {
					t.Fatalf("the last run: %v", err)
				}
			}
		}
		s.settle()
		want := s.volumes()[s.pvcs()["data-db-0"].Spec.VolumeName].Annotations[data]
		if err := s.finished(want); err != nil {
			t.Fatal(err)
		}
	})
}
