// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What counts as pending, and for how long: what a tenant can make longer ends, and what he can make shorter does not.
//
// Contract: LIMIT-2.
func TestPendingEndsWhateverReadyDeadlineSays(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	at := func(change func(*Stage)) Stage {
		s := Stage{Created: start}
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		deadline time.Duration
		stage    Stage
		want     time.Duration
	}{
		"uncut":                                {time.Hour, at(func(s *Stage) { s.Uncut = true }), time.Hour},
		"uncut, the longest readyDeadline":     {century, at(func(s *Stage) { s.Uncut = true }), time.Hour},
		"uncut, the shortest readyDeadline":    {time.Second, at(func(s *Stage) { s.Uncut = true }), time.Hour},
		"cut":                                  {time.Hour, at(func(*Stage) {}), 24 * time.Hour},
		"cut, the shortest readyDeadline":      {time.Second, at(func(*Stage) {}), 24 * time.Hour},
		"cut, in error":                        {3 * time.Hour, at(func(s *Stage) { s.Fails = true }), 3 * time.Hour},
		"cut, in error, longest readyDeadline": {century, at(func(s *Stage) { s.Fails = true }), 24 * time.Hour},
		"cut, in error, a short readyDeadline": {time.Second, at(func(s *Stage) { s.Fails = true }), time.Hour},
		"cut, terminating":                     {century, at(func(s *Stage) { s.Deleted = start.Add(-time.Minute) }), 59 * time.Minute},
		"uncut, terminating":                   {century, at(func(s *Stage) { s.Uncut, s.Deleted = true, start }), time.Hour},
		"a newer one is ready":                 {century, at(func(s *Stage) { s.Followed = true }), 0},
		"created in the future":                {time.Hour, Stage{Created: start.Add(1000 * time.Hour)}, 24 * time.Hour},
	} {
		s := Snapshot{ReadyDeadline: tc.deadline}
		if got := s.pendingUntil(start, tc.stage).Sub(start); got != tc.want {
			t.Errorf("%s: pending for %s, want %s", name, got, tc.want)
		}
	}
}

// Contract: LIMIT-2.
func TestOneNamespaceKeepsPendingForADayAtMost(t *testing.T) {
	for name, tc := range map[string]struct {
		uncut bool
		last  time.Duration
	}{"uncut": {true, time.Hour}, "cut, and never ready": {false, 24 * time.Hour}} {
		t.Run(name, func(t *testing.T) {
			g := newTester(0)
			g.sizes = Sizes{Pending: 10}
			for i := range 20 {
				name := fmt.Sprintf("evil/s/%d", i)
				if s := snapshotOf(name); g.create(key(name), s, start) {
					s.ReadyDeadline = 100 * 365 * 24 * time.Hour
					g.note(g.Seen(g.now, s, Stage{Created: g.now, Uncut: tc.uncut}))
				}
			}
			g.now = start.Add(tc.last - time.Second)
			if g.ask("victim/s/1") {
				t.Error("max-pending is exceeded")
			}
			g.now = start.Add(tc.last)
			if !g.ask("victim/s/1") {
				t.Errorf("the victim still waits after %s", tc.last)
			}
		})
	}
}

// A place that comes free goes to a namespace that has none before it goes to one that has some, whoever came first.
//
// Contract: LIMIT-2.
func TestAFreedPlaceGoesToANamespaceThatHasNone(t *testing.T) {
	for name, tc := range map[string]struct {
		sizes Sizes
		want  string
	}{
		"pending":   {Sizes{Pending: 3}, "c/s/0"},
		"in flight": {Sizes{InFlight: 3}, "a/s/2"}, // in turn, and half of it is free for the others at any time
	} {
		t.Run(name, func(t *testing.T) {
			g := newTester(0)
			g.sizes = tc.sizes
			for _, name := range []string{"a/s/1", "b/s/1", "b/s/2", "a/s/2", "b/s/3", "c/s/0"} {
				g.ask(name)
			}
			g.woken = nil
			g.cut("b/s/1")
			if got := strings.Join(g.woken, " "); !strings.HasPrefix(got, tc.want) {
				t.Errorf("woken %q, want %q first", got, tc.want)
			}
		})
	}
}

// crowd is Limits among namespaces of which one always has something under way that lasts, one has groups that are as large as
// the limit, and one has keys of single PVCs whose snapshots are ready at once.
type crowd struct {
	*tester
	groups, singles []string
	served          []time.Time
}

func (c *crowd) askGroup(name string, weight int) bool {
	s := snapshotOf(name)
	for i := range weight {
		s.Volumes = append(s.Volumes, fmt.Sprint(name, "/", i))
	}
	return c.create(key(name), s, c.now)
}

// pass reconciles all keys that wait.
func (c *crowd) pass(weight int) {
	var left []string
	for _, name := range c.groups {
		if c.askGroup(name, weight) {
			c.cut(name)
		} else {
			left = append(left, name)
		}
	}
	c.groups, left = left, nil
	for _, name := range c.singles {
		if c.ask(name) {
			c.served = append(c.served, c.now)
			c.cut(name)
		} else {
			left = append(left, name)
		}
	}
	c.singles = left
}

// However many groups of a namespace find no room, others get half of the driver, but for ten minutes an hour at most,
// and all of it for most of the time.
//
// Contract: LIMIT-8.
func TestGroupsOfOneNamespaceDoNotStopADriver(t *testing.T) {
	for name, sizes := range map[string]Sizes{
		"max-pending, somebody's upload takes a day":        {InFlight: 100, Pending: 10},
		"max-in-flight, somebody's snapshots are never cut": {InFlight: 10},
	} {
		for _, evil := range []int{0, 1, 50} {
			t.Run(fmt.Sprintf("%s, %d groups", name, evil), func(t *testing.T) {
				c := &crowd{tester: newTester(0)}
				c.sizes = sizes
				for i := range evil {
					c.groups = append(c.groups, fmt.Sprintf("evil/s/%d", i))
				}
				longest, last := time.Duration(0), start
				for minute := range 24 * 60 {
					c.now = start.Add(time.Duration(minute) * time.Minute)
					if minute%50 == 0 {
						s := snapshotOf(fmt.Sprintf("slow/s/%d", minute))
						c.note(c.Seen(c.now, s, Stage{Created: c.now, Uncut: sizes.Pending == 0}))
						c.note(c.Remove(c.now, "slow", fmt.Sprintf("slow/s/%d", minute-50)))
					}
					c.singles = append(c.singles, fmt.Sprintf("victim/s/%d", minute))
					c.pass(10)
					if n := len(c.served); n > 0 {
						longest = max(longest, c.now.Sub(last))
						last = c.served[n-1]
					}
				}
				if len(c.served) != 24*60 || longest > 11*time.Minute {
					t.Errorf("%d of %d snapshots were taken, and the longest stop was %s", len(c.served), 24*60, longest)
				}
				if len(c.groups) != evil && sizes.Pending > 0 { // the upload takes all day
					t.Errorf("%d groups of %d found room", evil-len(c.groups), evil)
				}
			})
		}
	}
}

// Whoever asks, leaves and waits: no namespace reserves a driver for longer than an hour of any six, one reservation
// ends before the next begins, and it is quiet for others for ten minutes of any hour at most.
//
// Contract: LIMIT-8.
func TestReservationsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &crowd{tester: newTester(rapid.IntRange(4, 8).Draw(t, "limit"))}
		c.show("slow/s/0", 0)
		reserved := map[string][]time.Time{} // the minutes
		var silent []time.Time
		within := func(minutes []time.Time, d time.Duration) (n int) {
			for _, m := range minutes {
				if m.After(c.now.Add(-d)) {
					n++
				}
			}
			return n
		}
		const step = 3 // minutes
		for i := range rapid.IntRange(20, 200).Draw(t, "steps") {
			minute := i * step
			c.now = start.Add(time.Duration(minute) * time.Minute)
			if minute%27 == 0 {
				c.show(fmt.Sprint("slow/s/", minute), 0)
			}
			name := fmt.Sprintf("%d/s/%d", rapid.IntRange(1, 9).Draw(t, "namespace"), rapid.IntRange(0, 2).Draw(t, "group"))
			if rapid.IntRange(0, 9).Draw(t, "leaves") == 0 {
				c.leave(name)
			} else if c.askGroup(name, 8) {
				c.cut(name)
			}
			r := c.limits[testDriver].reserved
			if r == nil || !c.now.Before(r.until) {
				continue
			}
			namespace := r.key.Parent.Namespace
			reserved[namespace] = append(reserved[namespace], c.now)
			if n := step * within(reserved[namespace], window); n > 60 {
				t.Fatalf("namespace %s has the driver for %d minutes of six hours", namespace, n)
			}
			if r.quiet(c.now) {
				silent = append(silent, c.now)
				if n := step * within(silent, quietEvery); n > 10+step {
					t.Fatalf("others get nothing for %d minutes of an hour", n)
				}
			}
		}
	})
}

// Namespaces whose groups find no room have the driver in turn.
//
// Contract: LIMIT-8.
func TestReservationsGoRoundTheNamespaces(t *testing.T) {
	c := &crowd{tester: newTester(4)}
	var order []string
	for minute := range 5 * 60 {
		c.now = start.Add(time.Duration(minute) * time.Minute)
		if minute%29 == 0 {
			c.show(fmt.Sprint("slow/s/", minute), 0)
		}
		for _, namespace := range []string{"a", "b", "c"} {
			for i := range 3 {
				c.askGroup(fmt.Sprintf("%s/s/%d", namespace, i), 4)
			}
		}
		if r := c.limits[testDriver].reserved; r != nil && (len(order) == 0 || order[len(order)-1] != r.key.Parent.Namespace) {
			order = append(order, r.key.Parent.Namespace)
		}
	}
	if got := strings.Join(order, " "); got != "a b c" {
		t.Errorf("the driver was reserved for %s", got)
	}
}

// Contract: LIMIT-8.
func TestAGroupThatFoundNoRoomSaysWhatHasThePlaces(t *testing.T) {
	g := newTester(0)
	g.sizes = Sizes{Pending: 4}
	c := &crowd{tester: g}
	for _, name := range []string{"a/uploads/0", "b/s/0"} {
		g.note(g.Seen(g.now, snapshotOf(name), Stage{Created: g.now}))
	}
	c.askGroup("a/s/group", 3)
	if s, ok := g.Shortage(key("a/s/group")); ok {
		t.Fatalf("in its reservation it lacks %+v", s)
	}
	g.now = g.now.Add(time.Hour)
	c.askGroup("a/s/group", 3)
	want := Shortage{Reason: Pending, Needs: 3, Size: 4, Own: 1, Others: 1}
	if s, ok := g.Shortage(key("a/s/group")); !ok || s != want {
		t.Fatalf("it lacks %+v, %t; want %+v", s, ok, want)
	}
	g.cut("a/uploads/0")
	if !c.askGroup("a/s/group", 3) {
		t.Fatal("it waits, and there is room")
	}
	if s, ok := g.Shortage(key("a/s/group")); ok {
		t.Fatalf("it lacks %+v, and has gone", s)
	}
}
