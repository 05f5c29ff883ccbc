// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The properties are cheap.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.checks": "1000", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// storm is Limits among keys that are reconciled when they are woken, and a driver that
// cuts snapshots.
type storm struct {
	*tester
	size int
	// created are the snapshots in flight, and when they were created.
	created map[string]time.Time
	waiting map[string]bool
	// served are the keys that created, in order.
	served []string
}

func newStorm(limit int) *storm {
	return &storm{tester: newTester(limit), size: limit, created: map[string]time.Time{}, waiting: map[string]bool{}}
}

// pass reconciles a key that is due.
func (s *storm) pass(name string) {
	delete(s.later, name)
	if s.ask(name) {
		delete(s.waiting, name)
		s.created[name] = s.now
		s.served = append(s.served, name)
	} else {
		s.waiting[name] = true
	}
}

// settle reconciles the keys that were woken.
func (s *storm) settle() {
	for len(s.woken) > 0 {
		next := s.woken[0]
		s.woken = s.woken[1:]
		if s.waiting[next] {
			s.pass(next)
		} else {
			s.leave(next)
		}
	}
}

// wait lets time pass until a time, and reconciles the keys that are woken by then.
func (s *storm) wait(until time.Time) {
	for {
		next := until
		for _, at := range s.later {
			if at.Before(next) {
				next = at
			}
		}
		s.now = next
		due := maps.Clone(s.later)
		maps.DeleteFunc(due, func(_ string, at time.Time) bool { return at.After(next) })
		for _, name := range slices.Sorted(maps.Keys(due)) {
			delete(s.later, name)
			s.woken = append(s.woken, name)
		}
		s.settle()
		if !next.Before(until) && len(due) == 0 {
			return
		}
	}
}

// timeOut ends the create of a snapshot without a response, unless it is seen, after which
// its key asks again.
func (s *storm) timeOut(name string) {
	if s.flights[snapshotOf(name).id()] == nil || s.flights[snapshotOf(name).id()].cached {
		return
	}
	delete(s.created, name)
	s.note(s.Failed(s.now, key(name).Parent.Namespace, name))
	s.settle()
	s.pass(name)
}

// counted returns how many snapshots of each namespace count.
func (s *storm) counted() map[string]int {
	n := map[string]int{}
	for name, at := range s.created {
		if s.now.Before(at.Add(snapshotOf(name).inFlightFor())) {
			n[key(name).Parent.Namespace]++
		}
	}
	return n
}

// mayBeCreated returns what the contract says of a key that waits.
func (s *storm) mayBeCreated(name string) bool {
	othersWait := func(namespace string) bool {
		for waits := range s.waiting {
			if key(waits).Parent.Namespace != namespace {
				return true
			}
		}
		return false
	}
	own, held, total := key(name).Parent.Namespace, s.counted(), 0
	for namespace, n := range held {
		if othersWait(namespace) {
			n = min(n, (s.size+1)/2)
		}
		total += n
	}
	return total < s.size && (held[own] < (s.size+1)/2 || !othersWait(own))
}

func (s *storm) check(t *rapid.T) {
	t.Helper()
	total := 0
	for _, n := range s.counted() {
		total += n
	}
	if total > s.size+s.size/2 {
		t.Fatalf("%d are in flight, and the limit is %d", total, s.size)
	}
	if inFlight, waiting := s.count(); inFlight != total || waiting != len(s.waiting) {
		t.Fatalf("counts %d in flight, %d waiting; want %d, %d", inFlight, waiting, total, len(s.waiting))
	}
	for name := range s.waiting {
		if s.mayBeCreated(name) {
			t.Fatalf("%s waits, and there is room: %v are in flight, and the limit is %d", name, s.counted(), s.size)
		}
	}
	if len(s.flights) > len(s.created) || len(s.waits) != len(s.waiting) || len(s.limits) > 1 {
		t.Fatalf("%d flights, %d keys that wait and %d limits are known; %d and %d exist",
			len(s.flights), len(s.waits), len(s.limits), len(s.created), len(s.waiting))
	}
}

// pick draws one of some names.
func pick(t *rapid.T, from map[string]time.Time, label string) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(from))).Draw(t, label)
}

// Whatever keys ask, leave, and become of their snapshots, never more than the limit
// and its half count, there is no room while a key waits, nothing is known of what does
// not exist, and in the end every key is served.
//
// Contract: FLIGHT-1, FLIGHT-2.
func TestLimitIsHeldAndEverybodyIsNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(rapid.IntRange(1, 6).Draw(t, "limit"))
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			name := fmt.Sprintf("%d/%d/%d", rapid.IntRange(1, 4).Draw(t, "namespace"), rapid.IntRange(1, 3).Draw(t, "schedule"), i)
			switch action := rapid.IntRange(0, 10).Draw(t, "action"); {
			case action < 5:
				s.pass(name)
			case action == 5 && len(s.waiting) > 0:
				left := rapid.SampledFrom(slices.Sorted(maps.Keys(s.waiting))).Draw(t, "leaves")
				delete(s.waiting, left)
				s.leave(left)
			case action == 6 && len(s.created) > 0:
				shown := pick(t, s.created, "shown")
				s.show(shown, s.now.Sub(s.created[shown]))
			case action == 7 && len(s.created) > 0:
				s.leave(pick(t, s.created, "has nothing to do"))
			case action == 8:
				s.wait(s.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "minutes")) * time.Minute))
			case action == 9 && len(s.created) > 0:
				s.timeOut(pick(t, s.created, "times out"))
			case len(s.created) > 0:
				gone := pick(t, s.created, "cut")
				delete(s.created, gone)
				s.cut(gone)
			}
			s.settle()
			s.check(t)
		}
		for cuts := len(s.waiting) + len(s.created); len(s.waiting) > 0; cuts-- {
			if cuts == 0 {
				t.Fatalf("%d keys wait for ever", len(s.waiting))
			}
			gone := pick(t, s.created, "cut")
			delete(s.created, gone)
			s.cut(gone)
			s.settle()
			s.check(t)
		}
	})
}

// A driver that cuts nothing delays nobody for ever: flights end, without any event.
func TestEverybodyIsNextWithoutEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit, keys := rapid.IntRange(1, 5).Draw(t, "limit"), rapid.IntRange(1, 40).Draw(t, "keys")
		s := newStorm(limit)
		for i := range keys {
			s.pass(fmt.Sprintf("%d/s/%d", i%3, i))
			s.wait(s.now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second))
			s.check(t)
		}
		s.wait(start.Add(time.Duration(keys)*300*time.Second + time.Duration(keys/limit+1)*30*time.Minute))
		if len(s.waiting) > 0 {
			t.Fatalf("%d keys wait for ever", len(s.waiting))
		}
	})
}

// While others wait, a namespace gets no more than half, and a namespace
// that joins is served after at most one key of each other.
//
// Contract: FLIGHT-3.
func TestLimitsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(rapid.IntRange(1, 8).Draw(t, "limit"))
		namespaces := rapid.IntRange(1, 6).Draw(t, "namespaces")
		for n := range namespaces {
			for k := range rapid.IntRange(10, 30).Draw(t, "keys") {
				s.pass(fmt.Sprintf("%d/%d/%d", n, k%2, k))
			}
		}
		const late = "late/s/x"
		first := len(s.served)
		s.pass(late)
		before := first
		for s.waiting[late] {
			gone := pick(t, s.created, "cut")
			delete(s.created, gone)
			s.cut(gone)
			for s.settle(); before < len(s.served); before++ {
				namespace := key(s.served[before]).Parent.Namespace
				if n := s.counted()[namespace]; namespace != "late" && n > (s.size+1)/2 {
					t.Fatalf("namespace %s has %d of %d in flight while others wait", namespace, n, s.size)
				}
			}
		}
		if overtook := slices.Index(s.served, late) - first; overtook > namespaces {
			t.Fatalf("%d keys of %d namespaces overtook one", overtook, namespaces)
		}
	})
}

// Whatever one namespace does: its snapshots are never cut, its creates hang until they
// time out, its schedules and their keys come and go, its deadlines are short. A neighbor
// with less than half of the limit in flight never waits.
//
// Contract: FLIGHT-3.
func TestOneNamespaceDelaysNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(rapid.IntRange(2, 8).Draw(t, "limit"))
		for i := range rapid.IntRange(1, 100).Draw(t, "steps") {
			hostile := fmt.Sprintf("hostile/%d/%d", rapid.IntRange(1, 3).Draw(t, "schedule"), i)
			switch rapid.IntRange(0, 8).Draw(t, "action") {
			default:
				s.pass(hostile)
			case 3:
				s.show(hostile, time.Duration(rapid.IntRange(0, 30).Draw(t, "age"))*time.Minute)
			case 4:
				if len(s.created) > 0 {
					if name := pick(t, s.created, "times out"); key(name).Parent.Namespace == "hostile" {
						s.timeOut(name)
					}
				}
			case 5:
				s.note(s.ParentDeleted(s.now, key(hostile).Parent))
			case 6:
				s.wait(s.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute))
			case 7, 8:
				neighbor := fmt.Sprintf("neighbor/s/%d", i)
				if s.counted()["neighbor"] < s.size/2 {
					if s.pass(neighbor); s.waiting[neighbor] {
						t.Fatalf("the neighbor waits, with %v in flight of %d", s.counted(), s.size)
					}
				}
			}
			s.settle()
		}
	})
}

// However short the deadline of a schedule is, its snapshots count for a minute.
//
// Contract: FLIGHT-2.
func TestShortDeadlinesDoNotEvadeTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, limit := newTester(3), 3
		for i := range 20 {
			s := snapshotOf(fmt.Sprintf("a/s/%d", i))
			s.ReadyDeadline = time.Duration(rapid.IntRange(0, 100).Draw(t, "seconds")) * time.Second
			may := g.create(key(s.Name), s, g.now)
			if want := i < limit; may != want {
				t.Fatalf("snapshot %d: may be created %v", i, may)
			}
			if may {
				g.see(s, 0)
			}
			g.now = g.now.Add(2 * time.Second)
		}
	})
}
