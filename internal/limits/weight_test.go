// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// groups is Limits among keys that create group snapshots of a weight. A key that was
// refused creates when it is woken.
type groups struct {
	*tester
	size int
	// weights are those of all keys, inFlight of those that created.
	weights, inFlight map[string]int
	waiting           map[string]bool
	served            []string
}

func newGroups(size int) *groups {
	return &groups{tester: newTester(size), size: size, weights: map[string]int{}, inFlight: map[string]int{}, waiting: map[string]bool{}}
}

func (g *groups) want(name string, weight int) {
	g.weights[name] = weight
	g.pass(name)
}

func (g *groups) pass(name string) {
	s := snapshotOf(name)
	for i := range g.weights[name] {
		s.Volumes = append(s.Volumes, fmt.Sprint(name, "/", i))
	}
	if g.waiting[name] = !g.create(key(name), s, start); !g.waiting[name] {
		delete(g.waiting, name)
		g.inFlight[name] = g.weights[name]
		g.served = append(g.served, name)
	}
	g.settle()
}

// settle reconciles the keys that were woken.
func (g *groups) settle() {
	for len(g.woken) > 0 {
		next := g.woken[0]
		g.woken = g.woken[1:]
		if g.waiting[next] {
			g.pass(next)
		}
	}
}

func (g *groups) finish(name string) {
	delete(g.inFlight, name)
	g.cut(name)
	g.settle()
}

// wait lets time pass and reconciles the keys that are woken by then.
func (g *groups) wait(d time.Duration) {
	g.now = g.now.Add(d)
	for _, name := range slices.Sorted(maps.Keys(g.later)) {
		if !g.later[name].After(g.now) {
			delete(g.later, name)
			g.woken = append(g.woken, name)
		}
	}
	g.settle()
}

func (g *groups) sum() (n int) {
	for _, weight := range g.inFlight {
		n += weight
	}
	return n
}

// Contract: GRP-8.
func TestGroupsWeighTheirPVCs(t *testing.T) {
	g := newGroups(10)
	g.want("a/s/1", 4)
	g.want("a/s/2", 4)
	g.want("a/s/3", 4) // finds too little room, and is next
	g.want("a/s/4", 1) // waits behind it
	if want := []string{"a/s/1", "a/s/2"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v", g.served, want)
	}
	g.finish("a/s/1")
	if want := []string{"a/s/1", "a/s/2", "a/s/3", "a/s/4"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v", g.served, want)
	}
	if counts := g.Counts(g.now)[testDriver]; counts.InFlight != 9 {
		t.Errorf("%d in flight, want the weights, 9", counts.InFlight)
	}
}

// Contract: GRP-8.
func TestAGroupThatIsLargerThanTheLimitGoesAlone(t *testing.T) {
	g := newGroups(3)
	g.want("a/s/1", 1)
	g.want("a/t/2", 5)
	g.want("a/s/3", 1)
	if want := []string{"a/s/1"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v", g.served, want)
	}
	g.finish("a/s/1")
	if want := []string{"a/s/1", "a/t/2"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v: alone", g.served, want)
	}
	g.finish("a/t/2")
	if want := []string{"a/s/1", "a/t/2", "a/s/3"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v", g.served, want)
	}
}

// Something that never ends must not have everybody wait for a group: after an hour the others
// are next, and then the group again.
//
// Contract: GRP-8.
func TestAGroupKeepsRoomForAnHour(t *testing.T) {
	g := newGroups(3)
	stuck := snapshotOf("a/s/stuck")
	stuck.ReadyDeadline = 100 * time.Hour
	g.sizes.Pending = 3
	g.note(g.Seen(g.now, stuck, Stage{Created: g.now})) // it is cut, and not ready
	g.want("a/s/group", 3)
	g.want("a/t/1", 1)
	g.want("a/t/2", 1)
	if len(g.served) > 0 {
		t.Fatalf("served %v", g.served)
	}
	g.wait(time.Hour - time.Second)
	if len(g.served) > 0 {
		t.Fatalf("served %v before an hour had passed", g.served)
	}
	g.wait(time.Second)
	if want := []string{"a/t/1", "a/t/2"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v", g.served, want)
	}
	g.finish("a/t/1")
	g.finish("a/t/2")
	g.finish("a/s/stuck")
	if want := []string{"a/t/1", "a/t/2", "a/s/group"}; !slices.Equal(g.served, want) {
		t.Fatalf("served %v, want %v", g.served, want)
	}
}

// A group waits for each of its volumes.
//
// Contract: GRP-8.
func TestAGroupWaitsForItsVolumes(t *testing.T) {
	g := newTester(10)
	c := Create{Request: key("a/s/group"), Snapshot: snapshotOf("a/s/group"), Since: start, Sizes: g.sizes}
	c.Snapshot.Volumes = []string{"data", "log"}
	c.Volumes = []Volume{{Name: "data", Max: 2}, {Name: "log", Max: 2, Snapshots: []string{"x", "y"}}}
	why, wake := g.MayCreate(g.now, c)
	if g.note(wake); why != VolumeLimit {
		t.Fatalf("%q, want %q", why, VolumeLimit)
	}
	if g.note(g.VolumeChanged(g.now, "log")); !slices.Equal(g.woken, []string{"a/s/group"}) {
		t.Fatalf("woken %v", g.woken)
	}
	c.Volumes[1].Snapshots = []string{"y"}
	if why, _ = g.MayCreate(g.now, c); why != "" {
		t.Fatalf("%q, want none", why)
	}
	other := Create{Request: key("a/s/log"), Snapshot: snapshotOf("a/s/log"), Since: start, Sizes: g.sizes}
	other.Snapshot.Volumes, other.Volumes = []string{"log"}, []Volume{{Name: "log", Max: 2, Snapshots: []string{"y"}}}
	if why, _ = g.MayCreate(g.now, other); why != VolumeLimit {
		t.Fatalf("%q, want %q: the group takes a place of each volume", why, VolumeLimit)
	}
}

// Whatever the groups weigh: together they fit, or there is one alone; and all of them go when
// those before them end.
//
// Contract: GRP-8.
func TestGroupsFitAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGroups(rapid.IntRange(1, 8).Draw(t, "size"))
		namespaces := []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "namespaces")]
		check := func() {
			if sum := g.sum(); len(namespaces) == 1 && sum > g.size && len(g.inFlight) > 1 {
				t.Fatalf("%d in flight, of %v; size %d", sum, g.inFlight, g.size)
			}
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "groups") {
			name := fmt.Sprintf("%s/%d/%d", rapid.SampledFrom(namespaces).Draw(t, "namespace"), rapid.IntRange(0, 1).Draw(t, "schedule"), i)
			g.want(name, rapid.IntRange(1, 10).Draw(t, "weight"))
			check()
			for _, done := range slices.Sorted(maps.Keys(g.inFlight)) {
				if rapid.IntRange(0, 3).Draw(t, "done") == 0 {
					g.finish(done)
					check()
				}
			}
		}
		for range len(g.weights) {
			for _, done := range slices.Sorted(maps.Keys(g.inFlight)) {
				g.finish(done)
				check()
			}
		}
		if len(g.served) != len(g.weights) {
			t.Fatalf("served %v of %v; waiting %v", g.served, g.weights, g.waiting)
		}
	})
}

// Room that was kept too long is given up also while no key may go on, because each namespace has
// its half: its end would otherwise wake the key again and again.
func TestAKeptRoomEndsWhoeverIsNext(t *testing.T) {
	l, now := New(), start
	of := func(namespace, name string, weight int) Create {
		c := Create{Request: Request{Parent: types.NamespacedName{Namespace: namespace, Name: "s"}, MapKey: name}, Since: now, Sizes: Sizes{Pending: 10}}
		c.Snapshot = Snapshot{Namespace: namespace, Name: name, Schedule: "s", Limit: "d", ReadyDeadline: time.Hour}
		for i := range weight {
			c.Snapshot.Volumes = append(c.Snapshot.Volumes, fmt.Sprint(namespace, name, i))
		}
		return c
	}
	for namespace, uploads := range map[string]int{"a": 4, "b": 5} {
		for i := range uploads {
			l.Seen(now, of(namespace, fmt.Sprint(i), 1).Snapshot, Stage{Created: now})
		}
	}
	group := of("a", "group", 3)
	l.MayCreate(now, group)
	l.MayCreate(now, of("b", "single", 1))
	now = now.Add(longest + time.Second)
	for range 3 {
		why, wake := l.MayCreate(now, group)
		if why == "" || slices.ContainsFunc(wake, func(w Wake) bool { return w.After <= 0 }) {
			t.Fatalf("waits for %q, and is woken: %v", why, wake)
		}
	}
}

// A group that may not go because an upload of its namespace lasts, and others wait, holds up no
// other key of its namespace for longer than a group may keep room.
func TestAGroupBehindAnUploadOfItsNamespaceDoesNotHoldUpTheNamespace(t *testing.T) {
	g := newGroups(0)
	g.sizes = Sizes{Pending: 4}
	g.want("a/uploads/0", 1)
	g.note(g.Seen(g.now, snapshotOf("a/uploads/0"), Stage{Created: g.now})) // for ever
	upload := func(name string) { g.note(g.Seen(g.now, g.snapshot(name), Stage{Created: g.now})) }
	others := []string{}
	for i := range 3 {
		name := fmt.Sprintf("b/s/%d", i)
		g.want(name, 1)
		upload(name)
		others = append(others, name)
	}
	g.want("a/group/0", 2)
	g.want("a/single/0", 1)
	for i := 3; i < 60; i++ { // another namespace always has keys that wait
		name := fmt.Sprintf("b/s/%d", i)
		g.want(name, 1)
	}
	for range 12 { // two hours
		g.wait(10 * time.Minute)
		first := others[0]
		others = others[1:]
		before := len(g.served)
		g.finish(first)
		for _, name := range g.served[before:] {
			upload(name)
			others = append(others, name)
		}
	}
	if !slices.Contains(g.served, "a/single/0") {
		t.Errorf("a/single/0 still waits; served: %v", g.served)
	}
	for _, name := range slices.Concat(g.served, others) {
		g.finish(name)
	}
	for len(g.waiting) > 0 && len(g.inFlight) > 0 {
		for name := range maps.Clone(g.inFlight) {
			g.finish(name)
		}
	}
	if len(g.waiting) > 0 {
		t.Errorf("%v wait for nothing", g.waiting)
	}
}

// A group that was made to wait behind those of other schedules of its namespace holds none of them up again.
func TestAGroupThatWaitsBehindOthersOfItsNamespaceHoldsUpNoneOfThem(t *testing.T) {
	g := newGroups(0)
	g.sizes = Sizes{Pending: 4}
	g.want("a/uploads/0", 1)
	g.note(g.Seen(g.now, snapshotOf("a/uploads/0"), Stage{Created: g.now})) // for ever
	upload := func(name string) { g.note(g.Seen(g.now, g.snapshot(name), Stage{Created: g.now})) }
	running := []string{}
	for i := range 3 {
		name := fmt.Sprintf("b/s/%d", i)
		g.want(name, 1)
		upload(name)
		running = append(running, name)
	}
	g.want("a/group/0", 2)
	for i := range 4 {
		g.want(fmt.Sprintf("a/single/%d", i), 1)
	}
	for i := 3; i < 60; i++ { // another namespace always has keys that wait
		g.want(fmt.Sprintf("b/s/%d", i), 1)
	}
	for range 30 { // five hours
		g.wait(10 * time.Minute)
		before := len(g.served)
		g.finish(running[0])
		running = running[1:]
		for _, name := range g.served[before:] {
			upload(name)
			running = append(running, name)
		}
	}
	for i := range 4 {
		if name := fmt.Sprintf("a/single/%d", i); !slices.Contains(g.served, name) {
			t.Errorf("%s still waits; served: %v", name, g.served)
		}
	}
}

func (g *groups) snapshot(name string) Snapshot {
	s := snapshotOf(name)
	for i := range g.weights[name] {
		s.Volumes = append(s.Volumes, fmt.Sprint(name, "/", i))
	}
	return s
}

// A call tries some of the groups that wait, and the next call others. Each that is tried takes a turn.
//
// Contract: LIMIT-8.
func TestACallTriesNoMoreGroupsTheMoreOfThemWait(t *testing.T) {
	triedAtMost := func(waiting int) (most int) {
		g := newGroups(4)
		g.want("slow/s/0", 3)
		for i := range waiting {
			g.want(fmt.Sprintf("evil/s-%d/g-%d", i%7, i), 2)
		}
		positions := func() int { return g.limits[testDriver].queue.positions }
		for range 100 { // over the reservation of the namespace, and the hours in which it gets no other
			before := positions()
			g.now = g.now.Add(5 * time.Minute)
			g.ask("victim/s/0")
			g.cut("victim/s/0")
			g.see(snapshotOf("slow/s/0"), 0)
			most = max(most, positions()-before)
		}
		return most
	}
	few, many := triedAtMost(30), triedAtMost(1500)
	if few < 8 || many > 2*few {
		t.Errorf("a call tries up to %d groups if few wait, and up to %d if many do", few, many)
	}
}
