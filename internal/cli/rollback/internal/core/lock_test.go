// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"strings"
	"testing"
	"time"

	"mapcontroller.dev/snapshotschedule/api/v1alpha1"
)

// person is somebody who runs the command.
type person struct {
	user, claim        string
	own                *Lock
	scaled, released   bool
	takeOver, finished bool
}

// acts takes a person's next step.
func (s *cluster) acts(p *person) (Step, error) {
	s.user, s.own, s.scaled, s.released = p.user, p.own, p.scaled, p.released
	o := s.observeOf(p.claim)
	o.TakeOver = p.takeOver
	step, err := Next(o)
	if err == nil && step.Number > 0 {
		err = s.take(o, step, never)
	}
	p.own, p.scaled, p.released, p.finished = s.own, s.scaled, s.released, err == nil && step.Number == 0
	return step, err
}

// Two people roll back one PVC each of one StatefulSet. The second run names the first one, and after its end both have their data,
// and the StatefulSet its replicas.
//
// Contract: BACK-3.
func TestTwoRollbacksOfAWorkloadAreOneAfterTheOther(t *testing.T) {
	for number := 2; number <= 10; number++ {
		s := newCluster(t, 2, false)
		a, b := &person{user: "jane", claim: "data-db-0"}, &person{user: "joe", claim: "data-db-1"}
		for range 100 {
			s.now = s.now.Add(time.Second)
			s.tick()
			if step, err := s.acts(a); err != nil {
				t.Fatal(err)
			} else if step.Number == number {
				break
			}
		}
		s.runs++
		_, err := s.acts(b)
		if err == nil || !strings.Contains(err.Error(), "rollback 00000000 of data-db-0 by jane is unfinished (last step at 2026-11-21T12:0") {
			t.Fatalf("step %d: the second one: %v", number, err)
		}
		for _, p := range []*person{a, b} {
			for i := 0; !p.finished; i++ {
				s.now = s.now.Add(time.Second)
				s.tick()
				if _, err := s.acts(p); err != nil || i > 100 {
					t.Fatalf("step %d: %s: %v", number, p.user, err)
				}
			}
		}
		s.settle()
		if err := s.finished(earlier); err != nil {
			t.Errorf("step %d: %v", number, err)
		}
	}
}

// Contract: BACK-3.
func TestAnotherUserTakesOverAfterAnHour(t *testing.T) {
	s := newCluster(t, 2, false)
	a := &person{user: "jane", claim: "data-db-0"}
	for range 10 {
		s.tick()
		if _, err := s.acts(a); err != nil {
			t.Fatal(err)
		}
	}
	s.runs++
	b := &person{user: "joe", claim: "data-db-0"}
	for _, tc := range []struct {
		after    time.Duration
		takeOver bool
		works    bool
	}{{time.Minute, true, false}, {time.Hour, false, false}, {time.Minute, true, true}} {
		s.now = s.now.Add(tc.after)
		b.takeOver = tc.takeOver
		if _, err := s.acts(b); (err == nil) != tc.works {
			t.Errorf("after %s, take over: %t: %v", tc.after, tc.takeOver, err)
		}
	}
	if _, err := s.acts(a); err == nil || !strings.Contains(err.Error(), "another one goes on instead of this one") {
		t.Errorf("the first one: %v", err)
	}
	for i := 0; !b.finished; i++ {
		s.now = s.now.Add(time.Second)
		s.tick()
		if _, err := s.acts(b); err != nil || i > 100 {
			t.Fatal(err)
		}
	}
}

// The time of the last step is renewed while a step waits.
func TestTheLockIsRenewedEachMinute(t *testing.T) {
	s := newCluster(t, 2, false)
	s.broken = true
	for range 20 {
		s.now = s.now.Add(59 * time.Second)
		_, err := s.step(never)
		s.must(err)
		l, err := lockOn(s.set())
		s.must(err)
		if age := s.now.Sub(l.Time.Time); age >= 2*time.Minute {
			t.Fatalf("its last step is %s ago", age)
		}
	}
}

// A lock that something takes off is written again, and without it the records say what is unfinished.
//
// Contract: BACK-3.
func TestWithoutItsLockARollbackIsFoundByItsRecords(t *testing.T) {
	for number := 5; number <= 10; number++ {
		s := newCluster(t, 2, false)
		s.advance(number)
		set := s.set()
		delete(set.Annotations, v1alpha1.AnnotationRollback)
		s.must(s.update(set))
		s.goal = "-1"
		s.restart()
		s.advance(0)
		s.goal = "-0"
		s.settle()
		if err := s.finished(earlier); err != nil {
			t.Errorf("step %d: %v", number, err)
		}
	}
}

// A copy of the lock, as kubectl rollout undo brings back, is none.
func TestALockThatComesBackIsNone(t *testing.T) {
	s := newCluster(t, 2, false)
	s.advance(5)
	old := s.set().Annotations[v1alpha1.AnnotationRollback]
	s.advance(0)
	s.undoAll()
	set := s.set()
	set.Annotations = map[string]string{v1alpha1.AnnotationRollback: old}
	s.must(s.update(set))
	s.undo, s.goal = false, "-1"
	s.restart()
	o := s.observe()
	if _, err := Next(o); err != nil || o.Lock().Goal("data-db-0").Snapshot != "data-db-0-1" {
		t.Errorf("it goes on with %+v: %v", o.Lock(), err)
	}
}

// A StatefulSet that somebody has scaled to 0 is rolled back like any other, and stays there.
//
// Contract: BACK-6.
func TestAWorkloadThatIsScaledToZeroStaysThere(t *testing.T) {
	for _, number := range []int{1, 2, 3, 4, 6, 7, 8, 9, 10} { // nothing has to be scaled
		s := newCluster(t, 2, false)
		set := s.set()
		set.Spec.Replicas, s.raised = new(int32), 0
		s.must(s.update(set))
		s.settle()
		s.advance(number)
		s.restart()
		s.advance(0)
		o := s.observe()
		if _, err := Next(o); err != nil {
			t.Fatal(err)
		}
		lines, _ := Result(o)
		if last := lines[len(lines)-1]; number == 1 && !strings.Contains(last, "kubectl scale statefulset/db -n shop --replicas=") {
			t.Errorf("the last line is %q", last)
		}
		s.settle()
		if err := s.finished(earlier); err != nil {
			t.Errorf("step %d: %v", number, err)
		}
	}
}

// plant writes an annotation as whoever may edit the workload can.
func (s *cluster) plant(text string) {
	set := s.set()
	if set.Annotations == nil {
		set.Annotations = map[string]string{}
	}
	set.Annotations[v1alpha1.AnnotationRollback] = text
	s.must(s.update(set))
}

// Contract: BACK-3.
func TestALockThatNoRollbackHasWrittenKeepsNobodyFromGoingOn(t *testing.T) {
	const goals = `[{"name":"data-db-0","snapshot":"any","snapshotUID":"any"},{"name":"data-db-1","snapshot":"any","snapshotUID":"any"}]`
	for name, tc := range map[string]struct {
		lock, want string
		takeOver   bool
	}{
		"of the far future": {`{"id":"deadbeef","user":"nobody","time":"9999-01-01T00:00:00Z","claims":` + goals + `}`, "", true},
		"of the far future, and nobody asks to take it over": {`{"id":"deadbeef","user":"nobody","time":"9999-01-01T00:00:00Z","claims":` +
			goals + `}`, "finish it first", false},
		"without a time": {`{"id":"deadbeef","user":"jane","claims":` + goals + `}`, "remove it if no rollback is unfinished: it has no time", false},
		"without a goal": {`{"id":"deadbeef","user":"jane","time":"2026-01-01T00:00:00Z","claims":[{"name":"data-db-0"},{"name":"data-db-1"}]}`,
			"it does not say to which snapshot it goes back", false},
		"to a name that a shell runs": {`{"id":"deadbeef","user":"jane","time":"2026-01-01T00:00:00Z","claims":` +
			strings.Replace(goals, `"any"`, `"$(sh)"`, 1) + `}`, "it names no VolumeSnapshot", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCluster(t, 2, false)
			s.plant(tc.lock)
			_, err := lockOn(s.set())
			if err == nil {
				o := s.observe()
				o.TakeOver, o.Undo = tc.takeOver, tc.takeOver
				_, err = Next(o)
			}
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// A rollback leaves a workload at 0 only if it was at 0.
//
// Contract: BACK-3.
func TestALockLeavesNoRunningWorkloadAtLess(t *testing.T) {
	s := newCluster(t, 1, false)
	v := s.snapshots()[0]
	s.plant(`{"id":"deadbeef","user":"jane","time":"` + s.now.UTC().Format(time.RFC3339) + `","step":1,"replicas":0,"claims":[{"name":"data-db-0","snapshot":"` +
		v.Name + `","snapshotUID":"` + string(v.UID) + `"}]}`)
	o := s.observeOf("data-db-0")
	if _, err := Next(o); err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(Plan(o), "\n"); !strings.Contains(plan, "scale statefulset/db to 1") || strings.Contains(plan, "leave") {
		t.Errorf("the plan is\n%s", plan)
	}
}
