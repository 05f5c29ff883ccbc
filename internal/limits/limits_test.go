// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// key returns a key that is named by one string: namespace/schedule/key.
func key(name string) Request {
	part := strings.Split(name, "/")
	return Request{Parent: types.NamespacedName{Namespace: part[0], Name: part[1]}, MapKey: part[2]}
}

func nameOf(req Request) string { return req.Parent.String() + "/" + req.MapKey }

// tester is Limits whose keys create snapshots of their own names.
type tester struct {
	*Limits
	sizes Sizes
	now   time.Time
	// woken are the keys that were woken, in order; later those that will be, and when.
	woken []string
	later map[string]time.Time
}

func newTester(limit int) *tester {
	return &tester{Limits: New(), sizes: Sizes{InFlight: limit}, now: start, later: map[string]time.Time{}}
}

func (g *tester) note(wake []Wake) {
	for _, w := range wake {
		if w.After == 0 {
			g.woken = append(g.woken, nameOf(w.Request))
		} else {
			g.later[nameOf(w.Request)] = g.now.Add(w.After)
		}
	}
}

const testDriver = "csi.example.com"

func snapshotOf(name string) Snapshot {
	parent := key(name).Parent
	return Snapshot{Namespace: parent.Namespace, Name: name, Schedule: parent.Name, Limit: testDriver, ReadyDeadline: 30 * time.Minute}
}

func (g *tester) ask(name string) bool { return g.askSince(name, start) }

func (g *tester) askSince(name string, since time.Time) bool {
	return g.create(key(name), snapshotOf(name), since)
}

func (g *tester) create(req Request, s Snapshot, since time.Time) (may bool) {
	why, wake := g.MayCreate(g.now, Create{Request: req, Snapshot: s, Since: since, Sizes: g.sizes})
	g.note(wake)
	return why == ""
}

func (g *tester) cut(name string)   { g.note(g.Remove(g.now, key(name).Parent.Namespace, name)) }
func (g *tester) leave(name string) { g.note(g.Leave(g.now, key(name))) }
func (g *tester) show(name string, age time.Duration) {
	g.see(snapshotOf(name), age)
}

// see shows an uncut snapshot of an age.
func (g *tester) see(s Snapshot, age time.Duration) {
	g.note(g.Seen(g.now, s, uncutSince(g.now.Add(-age))))
}

// uncutSince is the stage of an uncut snapshot.
func uncutSince(created time.Time) Stage {
	return Stage{Created: created, Uncut: true}
}

func (g *tester) count() (inFlight, waiting int) {
	for _, c := range g.Counts(g.now) {
		inFlight, waiting = inFlight+c.InFlight, waiting+c.Waiting
	}
	return inFlight, waiting
}

// wantCounts expects so many snapshots in flight, and keys that wait.
func (g *tester) wantCounts(t *testing.T, inFlight, waiting int) {
	t.Helper()
	if i, w := g.count(); i != inFlight || w != waiting {
		t.Errorf("%d in flight, %d wait; want %d, %d", i, w, inFlight, waiting)
	}
}

// fill asks for some keys of namespace a, schedule s, from 0 on.
func (g *tester) fill(keys int) (may int) {
	for i := range keys {
		if g.ask(fmt.Sprintf("a/s/%d", i)) {
			may++
		}
	}
	return may
}

// Contract: FLIGHT-1.
func TestMayCreateUpToTheLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		limit, want int
		ask         func(*tester) int
	}{
		"the limit":      {limit: 3, want: 3, ask: func(g *tester) int { return g.fill(10) }},
		"one":            {limit: 1, want: 1, ask: func(g *tester) int { return g.fill(10) }},
		"no limit":       {limit: 0, want: 10, ask: func(g *tester) int { return g.fill(10) }},
		"asked again":    {limit: 3, want: 3, ask: func(g *tester) int { g.fill(10); return g.fill(10) }},
		"exist already":  {limit: 3, want: 1, ask: func(g *tester) int { g.show("b/s/x", 0); g.show("b/s/y", 0); return g.fill(10) }},
		"exceed already": {limit: 1, want: 0, ask: func(g *tester) int { g.show("b/s/x", 0); g.show("b/s/y", 0); return g.fill(10) }},
		"another namespace has all": {limit: 5, want: 2, ask: func(g *tester) int {
			for i := range 5 {
				g.ask(fmt.Sprintf("b/s/%d", i))
			}
			return g.fill(10)
		}},
	} {
		g := newTester(tc.limit)
		if got := tc.ask(g); got != tc.want {
			t.Errorf("%s: %d may be created, want %d", name, got, tc.want)
		}
	}
}

// Contract: FLIGHT-1.
func TestLimitsAreSeparate(t *testing.T) {
	g := newTester(1)
	g.fill(2)
	for _, tc := range []struct {
		driver string
		want   bool
	}{{testDriver, false}, {"other.example.com", true}, {"", true}, {"", false}} {
		name := fmt.Sprintf("b/s/%s %v", tc.driver, tc.want)
		s := snapshotOf(name)
		s.Limit = tc.driver
		if may := g.create(key(name), s, start); may != tc.want {
			t.Errorf("limit %q: may create %v", tc.driver, may)
		}
	}
}

// What makes room, with one of two keys in flight and the other waiting.
//
// Contract: FLIGHT-2.
func TestFlightsEnd(t *testing.T) {
	first, second := "a/s/0", "a/s/1"
	after := func(d time.Duration, do func(*tester)) func(*tester) {
		return func(g *tester) { g.now = g.now.Add(d); do(g) }
	}
	deadline := func(d time.Duration) func(*tester) {
		return func(g *tester) {
			s := snapshotOf(first)
			s.ReadyDeadline = 5 * time.Hour
			g.see(s, 0)
			g.now = g.now.Add(d)
			g.ask(second)
		}
	}
	ns := key(first).Parent.Namespace
	for name, tc := range map[string]struct {
		do   func(*tester)
		want bool // the second is woken, or may create
	}{
		"nothing happens":   {do: func(*tester) {}},
		"cut":               {do: func(g *tester) { g.cut(first) }, want: true},
		"shown uncut":       {do: func(g *tester) { g.show(first, 0) }},
		"shown uncut twice": {do: func(g *tester) { g.show(first, 0); g.show(first, 0) }},
		"shown uncut, then uploading": {do: func(g *tester) {
			g.show(first, 0)
			g.note(g.Seen(g.now, snapshotOf(first), Stage{Created: g.now}))
		}, want: true},
		"shown with its deadline passed": {do: func(g *tester) { g.show(first, 30*time.Minute) }, want: true},
		"shown just before its deadline": {do: func(g *tester) { g.show(first, 30*time.Minute-1) }},
		"not created":                    {do: func(g *tester) { g.note(g.Failed(g.now, ns, first)) }, want: true},
		"not created, and shown":         {do: func(g *tester) { g.show(first, 0); g.note(g.Failed(g.now, ns, first)) }},
		"it may exist":                   {do: func(g *tester) { g.note(g.Unsure(g.now, ns, first)) }},
		"it may exist, a moment later": {do: func(g *tester) {
			g.note(g.Unsure(g.now, ns, first))
			after(10*time.Second, func(g *tester) { g.ask(second) })(g)
		}, want: true},
		"it may exist, and is shown": {do: func(g *tester) {
			g.note(g.Unsure(g.now, ns, first))
			g.show(first, 0)
			after(10*time.Second, func(g *tester) { g.ask(second) })(g)
		}},
		"shown, and it may exist": {do: func(g *tester) {
			g.show(first, 0)
			g.note(g.Unsure(g.now, ns, first))
			after(10*time.Second, func(g *tester) { g.ask(second) })(g)
		}},
		"its deadline passes":       {do: after(30*time.Minute, func(g *tester) { g.ask(second) }), want: true},
		"just before its deadline":  {do: after(30*time.Minute-1, func(g *tester) { g.ask(second) })},
		"an hour passes":            {do: deadline(time.Hour), want: true},
		"less than an hour passes":  {do: deadline(time.Hour - 1)},
		"the clock is set back":     {do: after(-24*time.Hour, func(g *tester) { g.ask(second); g.now = g.now.Add(time.Hour); g.ask(second) }), want: true},
		"another one is cut":        {do: func(g *tester) { g.cut("a/s/7") }},
		"its key has nothing to do": {do: func(g *tester) { g.leave(first) }},
		"another one in its name's": {do: func(g *tester) { g.note(g.Remove(g.now, "b", first)) }},
		"the second one asks again": {do: func(g *tester) { g.ask(second) }},
		"the first one asks again":  {do: func(g *tester) { g.ask(first) }},
		"shown with a future created": {do: func(g *tester) {
			g.show(first, -24*time.Hour)
			after(30*time.Minute, func(g *tester) { g.ask(second) })(g)
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTester(1)
			if !g.ask(first) || g.ask(second) {
				t.Fatal("not one of two may be created")
			}
			tc.do(g)
			if got := slices.Contains(g.woken, second) || g.ask(second); got != tc.want {
				t.Errorf("served: %v, want %v", got, tc.want)
			}
		})
	}
}

// A create may take longer than readyDeadline, and shows its snapshot only then.
//
// Contract: FLIGHT-2.
func TestACreateCountsForAMinuteHoweverShortTheDeadlineIs(t *testing.T) {
	for after, want := range map[time.Duration]bool{time.Second: false, time.Minute - 1: false, time.Minute: true} {
		t.Run(after.String(), func(t *testing.T) {
			g, first := newTester(1), snapshotOf("a/s/0")
			first.ReadyDeadline = time.Second
			if !g.create(key(first.Name), first, g.now) {
				t.Fatal("the first may not be created")
			}
			g.now = g.now.Add(after)
			if got := g.ask("a/s/1"); got != want {
				t.Errorf("the second may be created: %v, want %v", got, want)
			}
		})
	}
}

// Namespaces are next by turns, then schedules, then the keys that lack a snapshot longest.
//
// Contract: FLIGHT-3.
func TestOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		limit   int
		waiting []string
		want    string
	}{
		"the first to arrive": {limit: 1, waiting: []string{"a/s/1", "a/s/2", "a/s/3"}, want: "a/s/1 a/s/2 a/s/3"},
		"the longest overdue": {limit: 1, waiting: []string{"a/s/1", "a/s/old", "a/s/older"}, want: "a/s/older a/s/old a/s/1"},
		"schedules":           {limit: 1, waiting: []string{"a/s/1", "a/s/2", "a/t/1", "a/t/2"}, want: "a/s/1 a/t/1 a/s/2 a/t/2"},
		"namespaces":          {limit: 1, waiting: []string{"a/s/1", "a/s/2", "b/s/1", "b/s/2"}, want: "a/s/1 b/s/1 a/s/2 b/s/2"},
		"namespaces before schedules": {
			limit: 1, waiting: []string{"a/s/1", "a/t/1", "a/u/1", "b/s/1"}, want: "a/s/1 b/s/1 a/t/1 a/u/1",
		},
		"an old one of another schedule": {limit: 1, waiting: []string{"a/s/1", "a/s/2", "a/t/older"}, want: "a/s/1 a/t/older a/s/2"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newTester(tc.limit)
			for i := range tc.limit {
				g.ask(fmt.Sprintf("full/s/%d", i+1))
			}
			since := map[string]time.Duration{"old": -time.Hour, "older": -2 * time.Hour}
			for _, w := range tc.waiting {
				if g.askSince(w, start.Add(since[key(w).MapKey])) {
					t.Fatalf("%s may be created", w)
				}
			}
			for i := range tc.waiting {
				if i < tc.limit {
					g.cut(fmt.Sprintf("full/s/%d", i+1))
				} else {
					g.cut(g.woken[i-tc.limit])
				}
				if len(g.woken) == i+1 && !g.ask(g.woken[i]) {
					t.Fatalf("%s is woken and may not create", g.woken[i])
				}
			}
			if got := strings.Join(g.woken, " "); got != tc.want {
				t.Errorf("woken %s, want %s", got, tc.want)
			}
		})
	}
}

// A woken key that has nothing to create any more makes room for the next.
func TestKeyWithoutCreatesMakesRoom(t *testing.T) {
	g := newTester(1)
	g.fill(3)
	g.cut("a/s/0")
	g.leave("a/s/1")
	if got := strings.Join(g.woken, " "); got != "a/s/1 a/s/2" {
		t.Errorf("woken %s", got)
	}
	g.wantCounts(t, 1, 0)
	g.leave("a/s/2")
	g.wantCounts(t, 0, 0)
}

// A snapshot that somebody else created makes its key leave the queue.
func TestKeyWithASnapshotDoesNotWait(t *testing.T) {
	g := newTester(1)
	g.fill(2)
	g.show("a/s/1", 0)
	if !g.ask("a/s/1") {
		t.Error("may not be created")
	}
	g.wantCounts(t, 2, 0)
}

// What is known does not grow with the limits that there were.
func TestIdleLimitsAreForgotten(t *testing.T) {
	g := newTester(1)
	g.ask("a/s/1")
	g.ask("a/s/2")
	for i := range 1000 {
		made := Snapshot{Namespace: "a", Name: fmt.Sprint(i), Limit: fmt.Sprint("made-up-", i), ReadyDeadline: time.Second}
		g.create(key("a/s/3"), made, start)
		switch i % 3 {
		case 0:
			g.Failed(g.now, made.Namespace, made.Name)
		case 1:
			g.see(made, time.Hour)
		default:
			g.Remove(g.now, made.Namespace, made.Name)
		}
		if len(g.limits) != 1 || len(g.flights) != 1 || len(g.waits) != 1 {
			t.Fatalf("%d: %d limits, %d flights and %d keys that wait are known", i, len(g.limits), len(g.flights), len(g.waits))
		}
	}
	g.wantCounts(t, 1, 1)
}

// A snapshot may be seen before what names its limit.
func TestSeenMovesASnapshotToItsLimit(t *testing.T) {
	g := newTester(1)
	s := snapshotOf("b/s/x")
	s.Limit = ""
	g.see(s, 0)
	g.fill(1)
	g.wantCounts(t, 2, 0)
	g.see(snapshotOf("b/s/x"), 0)
	if c := g.Counts(g.now); c[testDriver].InFlight != 2 || len(c) != 1 {
		t.Errorf("counts %v", c)
	}
	s.Name = "b/s/y"
	g.see(s, 0)
	if got := g.Of(key("b/s/x").Parent); len(got) != 2 {
		t.Errorf("of the schedule: %v", got)
	}
	if got := g.Of(key("b/t/x").Parent); len(got) != 0 {
		t.Errorf("of another schedule: %v", got)
	}
}

// One namespace has all that may be in flight: each of another one's keys may be created at once, up to
// half of the limit.
//
// Contract: FLIGHT-3.
func TestHalfIsFreeForOthers(t *testing.T) {
	for limit := 2; limit < 8; limit++ {
		g := newTester(limit)
		if got := g.fill(20); got != limit {
			t.Fatalf("limit %d: %d of the first namespace may be created", limit, got)
		}
		for i := range limit / 2 {
			if !g.ask(fmt.Sprintf("b/s/%d", i)) {
				t.Errorf("limit %d: key %d of another namespace waits", limit, i)
			}
		}
		if g.ask("b/s/waits") || g.ask("c/s/waits") {
			t.Errorf("limit %d: there is more than half more", limit)
		}
		g.wantCounts(t, limit+limit/2, 20-limit+2)
	}
}

// A namespace that holds half is passed over while others wait.
//
// Contract: FLIGHT-3.
func TestNamespaceWithHalfIsPassedOver(t *testing.T) {
	g := newTester(4)
	for _, name := range []string{"a/s/0", "a/s/1", "a/s/2", "x/s/0", "a/s/3", "b/s/0", "c/s/0"} {
		g.ask(name)
	}
	g.wantCounts(t, 5, 2)
	for _, step := range []struct{ cut, woken string }{{"a/s/0", ""}, {"x/s/0", "c/s/0"}, {"b/s/0", "c/s/0 a/s/3"}} {
		g.cut(step.cut)
		if got := strings.Join(g.woken, " "); got != step.woken {
			t.Errorf("after %s is cut, woken %q, want %q", step.cut, got, step.woken)
		}
	}
}

// A create that hangs until it times out makes room, and waits again after other
// namespaces.
//
// Contract: FLIGHT-3.
func TestFailedCreatesDoNotOvertake(t *testing.T) {
	g := newTester(2)
	g.fill(4)
	for i := range 3 {
		g.ask(fmt.Sprintf("b/s/%d", i))
	}
	g.ask("c/s/0")
	g.woken = nil
	for _, name := range []string{"a/s/0", "a/s/1"} { // others wait
		g.note(g.Failed(g.now, "a", name))
		if g.ask(name) {
			t.Errorf("%s overtakes", name)
		}
	}
	g.cut("b/s/0")
	if got := strings.Join(g.woken, " "); got != "c/s/0 b/s/1" {
		t.Errorf("woken %s", got)
	}
}

// The keys of a parent that is deleted make room, and find out for themselves whether it
// is there again.
func TestKeysOfADeletedParentLeave(t *testing.T) {
	g := newTester(1)
	g.fill(3)
	g.ask("a/t/1")
	g.ask("b/s/1")
	g.note(g.ParentDeleted(g.now, key("a/s/0").Parent))
	slices.Sort(g.woken)
	if got := strings.Join(g.woken, " "); got != "a/s/1 a/s/2" {
		t.Errorf("woken %s", got)
	}
	g.wantCounts(t, 1, 2)
	if later := slices.Collect(maps.Keys(g.later)); !slices.Contains(later, "a/t/1") && !slices.Contains(later, "b/s/1") {
		t.Errorf("when the next flight ends, %v are woken", later)
	}
	g.note(g.ParentDeleted(g.now, key("c/s/0").Parent))
	g.wantCounts(t, 1, 2)
}

// Nothing is lost in a restart: what exists counts.
//
// Contract: FLIGHT-4.
func TestRestart(t *testing.T) {
	g := newTester(3)
	for i := range 5 { // three are too old to count
		g.show(fmt.Sprintf("a/s/%d", i), time.Duration(i*15)*time.Minute)
	}
	g.wantCounts(t, 2, 0)
	if !g.ask("a/s/new") || g.ask("a/s/newer") {
		t.Error("the one that is left is not given away")
	}
}

// While keys wait, one of them is woken when the next flight ends, even if no event
// comes.
func TestFlightsThatEndWakeTheNext(t *testing.T) {
	g := newTester(2)
	g.show("a/s/x", 20*time.Minute)
	g.show("a/s/y", 10*time.Minute)
	g.ask("a/s/1")
	g.ask("a/s/2")
	for i, want := range []struct {
		after   time.Duration
		waiting int
	}{{10 * time.Minute, 1}, {20 * time.Minute, 0}} {
		if len(g.later) != 1 {
			t.Fatalf("%d: %v will be woken", i, g.later)
		}
		for name, at := range g.later {
			if at != start.Add(want.after) {
				t.Fatalf("%d: woken at %s", i, at.Sub(start))
			}
			delete(g.later, name)
			g.now = at
			g.ask(name)
			for _, next := range g.woken {
				g.ask(next)
			}
		}
		g.wantCounts(t, 2, want.waiting)
	}
}
