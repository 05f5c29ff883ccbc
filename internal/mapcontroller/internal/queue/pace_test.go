// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// request returns a key of a parent, which is named with or without its namespace.
func request(parent, key string) plan.Request {
	namespace, name, ok := strings.Cut(parent, "/")
	if !ok {
		namespace, name = "ns", parent
	}
	return plan.Request{Parent: types.NamespacedName{Namespace: namespace, Name: name}, MapKey: key}
}

func newTestPace(perSecond float64) (*Pace, *clocktesting.FakePassiveClock, *[]string) {
	clock, woken := clocktesting.NewFakePassiveClock(start), &[]string{}
	p := NewPace(clock, perSecond)
	p.Wake = func(req plan.Request) { *woken = append(*woken, req.Parent.Name+"/"+req.MapKey) }
	return p, clock, woken
}

func TestPace(t *testing.T) {
	type ask struct {
		after       time.Duration
		parent, key string
		n           int
		want        int
		// wantWait is until the next turn; zero: none.
		wantWait time.Duration
	}
	for name, test := range map[string]struct {
		perSecond float64
		asks      []ask
	}{
		"no pace": {asks: []ask{{parent: "p", key: "a", n: 1000, want: 1000}, {parent: "p", key: "a", n: 1000, want: 1000}}},
		"a burst, and then a wait": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 2, want: 2},
			{parent: "p", key: "b", n: 1, wantWait: 500 * time.Millisecond},
		}},
		"a key that waits keeps its turn": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 2, want: 2},
			{parent: "p", key: "b", n: 2, wantWait: time.Second},
			{parent: "p", key: "b", n: 2, after: 400 * time.Millisecond, wantWait: 600 * time.Millisecond},
			{parent: "p", key: "c", n: 1, after: 400 * time.Millisecond}, // waits
			{parent: "p", key: "b", n: 2, after: time.Second, want: 2},
		}},
		"no more than a burst at once": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 5, want: 2, wantWait: time.Second},
			{parent: "p", key: "a", n: 3, wantWait: time.Second},
			{parent: "p", key: "a", n: 3, after: time.Second, want: 2, wantWait: 500 * time.Millisecond},
		}},
		"a key that needs less by then takes less": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 2, want: 2},
			{parent: "p", key: "b", n: 2, wantWait: time.Second},
			{parent: "p", key: "b", n: 1, after: time.Second, want: 1},
		}},
		"less than one a second": {perSecond: 0.5, asks: []ask{
			{parent: "p", key: "a", n: 3, want: 1, wantWait: 2 * time.Second},
			{parent: "p", key: "a", n: 2, after: 2 * time.Second, want: 1, wantWait: 2 * time.Second},
		}},
		"a clock that is set back makes no wait longer": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 2, want: 2},
			{parent: "p", key: "b", n: 1, wantWait: 500 * time.Millisecond},
			{parent: "p", key: "b", n: 1, after: -time.Hour, wantWait: 500 * time.Millisecond},
			{parent: "p", key: "b", n: 1, after: -time.Hour + 500*time.Millisecond, want: 1},
		}},
		"another namespace does not wait for the keys of the first": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 2, want: 2},
			{parent: "p", key: "b", n: 1, wantWait: 500 * time.Millisecond},
			{parent: "p", key: "c", n: 2},
			{parent: "q", key: "d", n: 2},
			{parent: "other/q", key: "a", n: 1, wantWait: time.Second},
		}},
		"parents without a namespace do not wait for each other's keys": {perSecond: 2, asks: []ask{
			{parent: "/p", key: "a", n: 2, want: 2},
			{parent: "/p", key: "b", n: 1, wantWait: 500 * time.Millisecond},
			{parent: "/p", key: "c", n: 2},
			{parent: "/q", key: "a", n: 1, wantWait: time.Second},
		}},
		"a turn that is not used is somebody else's": {perSecond: 2, asks: []ask{
			{parent: "p", key: "a", n: 2, want: 2},
			{parent: "p", key: "b", n: 2, wantWait: time.Second},
			{parent: "p", key: "c", n: 1, after: time.Second + reservationExpires - time.Millisecond},
			{parent: "p", key: "c", n: 1, after: time.Second + reservationExpires, want: 1},
			{parent: "p", key: "b", n: 1, after: time.Second + reservationExpires, want: 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, clock, _ := newTestPace(test.perSecond)
			for i, ask := range test.asks {
				clock.SetTime(start.Add(ask.after))
				got, again := p.Take(request(ask.parent, ask.key), ask.n)
				wait := time.Duration(0)
				if !again.IsZero() {
					wait = again.Sub(clock.Now()).Round(time.Millisecond)
				}
				if got != ask.want || wait != ask.wantWait {
					t.Errorf("ask %d: got %d, wait %s; want %d, %s", i, got, wait, ask.want, ask.wantWait)
				}
			}
		})
	}
}

// A turn that ends, or is given up, wakes the next key.
func TestPaceWakesTheNext(t *testing.T) {
	for name, test := range map[string]struct {
		ends func(*Pace)
		want string
	}{
		"it is used":                  {ends: func(p *Pace) { p.Take(request("p", "b"), 1) }, want: "[p/c]"},
		"it is used for a part":       {ends: func(p *Pace) { p.Take(request("p", "b"), 3) }, want: "[p/c]"},
		"it is given up":              {ends: func(p *Pace) { p.Drop(request("p", "b")) }, want: "[p/c]"},
		"nothing is left to delete":   {ends: func(p *Pace) { p.Take(request("p", "b"), 0) }, want: "[p/c]"},
		"the next one has given up":   {ends: func(p *Pace) { p.Drop(request("p", "c")); p.Drop(request("p", "b")) }, want: "[p/d]"},
		"another parent's key ends":   {ends: func(p *Pace) { p.Drop(request("q", "b")) }, want: "[]"},
		"one that waits has given up": {ends: func(p *Pace) { p.Drop(request("p", "d")) }, want: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			p, clock, woken := newTestPace(2)
			for _, key := range []string{"a", "b", "c", "d"} {
				p.Take(request("p", key), 2)
			}
			*woken = nil
			clock.SetTime(start.Add(time.Second))
			test.ends(p)
			if got := fmt.Sprint(*woken); got != test.want {
				t.Errorf("woken %s, want %s", got, test.want)
			}
		})
	}
}

// However many schedules a namespace has, another one waits for one turn of it.
func TestPaceIsFairToANamespaceBesideManyParents(t *testing.T) {
	const perSecond = 10
	p, _, _ := newTestPace(perSecond)
	for i := range 1000 {
		p.Take(request(fmt.Sprintf("hostile/%d", i), "k"), perSecond)
	}
	granted, again := p.Take(request("shop/s", "k"), 1)
	if wait := again.Sub(start); granted == 0 && (again.IsZero() || wait > 2*time.Second) {
		t.Errorf("the delete of another namespace waits %s", wait)
	}
}

// demand are keys that want to delete, and what each parent has deleted.
type demand struct {
	pace  *Pace
	clock *clocktesting.FakePassiveClock
	want  map[plan.Request]int
	due   map[plan.Request]time.Time
	done  map[types.NamespacedName]int
}

func newDemand(perSecond float64) *demand {
	d := &demand{want: map[plan.Request]int{}, due: map[plan.Request]time.Time{}, done: map[types.NamespacedName]int{}}
	d.pace, d.clock, _ = newTestPace(perSecond)
	d.pace.Wake = func(req plan.Request) { d.due[req] = d.clock.Now() }
	return d
}

func (d *demand) ask(parent, key string, n int) {
	req := request(parent, key)
	d.want[req], d.due[req] = n, d.clock.Now()
}

func (d *demand) run(t time.Duration) {
	for end := d.clock.Now().Add(t); d.clock.Now().Before(end); {
		var req plan.Request
		for candidate, at := range d.due {
			if req == (plan.Request{}) || at.Before(d.due[req]) {
				req = candidate
			}
		}
		if d.due[req].After(d.clock.Now()) {
			d.clock.SetTime(d.due[req])
		}
		delete(d.due, req)
		granted, again := d.pace.Take(req, d.want[req])
		d.done[req.Parent] += granted
		if d.want[req] -= granted; d.want[req] > 0 && !again.IsZero() {
			d.due[req] = again
		}
	}
}

// Many keys with one delete each get as much as one key with many, of another namespace or of another parent.
func TestPaceIsFairToManyKeysBesideAHugeOne(t *testing.T) {
	const perSecond, seconds = 50, 20
	for _, many := range []string{"shop/s", "hostile/other"} {
		t.Run(many, func(t *testing.T) {
			d := newDemand(perSecond)
			d.ask("hostile/s", "k", 1_000_000)
			for i := range 2000 {
				d.ask(many, fmt.Sprint(i), 1)
			}
			d.run(seconds * time.Second)
			if d.done[request(many, "").Parent] < perSecond*seconds*2/5 {
				t.Errorf("in %d s, the deletes are %v", seconds, d.done)
			}
		})
	}
}

// What a schedule has deleted while nobody else wanted to does not count later: it gets its share at once.
func TestPaceForgetsWhatAParentHadAlone(t *testing.T) {
	const perSecond = 10
	d, child := newDemand(perSecond), request("ns/child", "k").Parent
	d.ask("ns/child", "k", 1_000_000)
	d.run(10 * time.Second)
	d.ask("ns/other", "k", 1) // one waits once
	d.run(6 * time.Hour)
	alone := d.done[child]
	for key := range 3 {
		d.ask("ns/hostile", fmt.Sprint(key), 1_000_000)
	}
	d.run(time.Hour)
	if got := d.done[child] - alone; got < perSecond*3600/3 {
		t.Errorf("in an hour beside another schedule: %d deletes, of %v", got, d.done)
	}
}

// Whatever parents want to delete, the limit holds, every key gets its deletes, no
// time is lost, and a parent with one delete waits for one key of each other parent of
// its namespace at most, and meanwhile for one turn of each other namespace at a time.
func TestPaceIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const perSecond = 10
		p, clock, woken := newTestPace(perSecond)
		want := map[plan.Request]int{}
		parents := rapid.IntRange(1, 5).Draw(t, "parents")
		namespaces := rapid.IntRange(1, parents).Draw(t, "namespaces")
		total := 0
		for parent := range parents {
			name := fmt.Sprintf("ns-%d/%d", parent%namespaces, parent)
			for key := range rapid.IntRange(1, 30).Draw(t, "keys") {
				n := rapid.IntRange(1, 3).Draw(t, "deletes")
				want[request(name, fmt.Sprint(key))] = n
				total += n
			}
		}
		late, lateAsked, lateDone := request("ns-0/late", "x"), time.Time{}, time.Time{}
		own := 3 * (parents + 1) // its own namespace's parents one key each, and the current one
		others := (namespaces - 1) * (own + perSecond - 1) / perSecond
		if alone := rapid.Bool().Draw(t, "in a namespace of its own"); alone {
			late, own, others = request("alone/late", "x"), 0, namespaces
		}
		due := map[plan.Request]time.Time{}
		for req := range want {
			due[req] = start
		}
		done, now := 0, start
		for step := 0; len(due) > 0; step++ {
			if step > 100*total+1000 {
				t.Fatalf("%d of %d deletes made; %d keys wait", done, total, len(want))
			}
			if lateAsked.IsZero() && now.Sub(start) >= time.Second {
				want[late], due[late], lateAsked = 1, now, now
				total++
			}
			var req plan.Request
			for candidate, at := range due {
				if req == (plan.Request{}) || at.Before(due[req]) {
					req = candidate
				}
			}
			if due[req].After(now) {
				now = due[req]
			}
			clock.SetTime(now)
			delete(due, req)
			granted, again := p.Take(req, want[req])
			done += granted
			if want[req] -= granted; want[req] == 0 {
				delete(want, req)
				if req == late {
					lateDone = now
				}
			} else if !again.IsZero() {
				due[req] = again
			}
			for _, name := range *woken {
				for waiting := range want {
					if waiting.Parent.Name+"/"+waiting.MapKey == name {
						due[waiting] = now
					}
				}
			}
			*woken = nil
			if allowed := perSecond + now.Sub(start).Seconds()*perSecond; float64(done) > allowed+0.001 {
				t.Fatalf("%d deletes after %s", done, now.Sub(start))
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d keys wait for ever", len(want))
		}
		if took := now.Sub(start).Seconds(); took > max(0, float64(total)/perSecond-1)+1.5 {
			t.Fatalf("%d deletes took %.1f s", total, took)
		}
		if !lateAsked.IsZero() && lateDone.Sub(lateAsked).Seconds() > float64(own+1)/perSecond+float64(others+1)+0.01 {
			t.Fatalf("one delete waited %s behind %d of its namespace and %d turns", lateDone.Sub(lateAsked), own, others)
		}
		if len(p.reservations) > 0 {
			t.Fatalf("%d reservations are left", len(p.reservations))
		}
	})
}
