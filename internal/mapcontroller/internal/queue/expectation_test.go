// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Contract: MAP-7.
func TestExpectations(t *testing.T) {
	id := plan.ID{Kind: fixture.ParentKind, Namespace: "ns", Name: "a"}
	shown, deleted := Expectation{ID: id}, Expectation{ID: id, Deleted: true}
	type clock = clocktesting.FakePassiveClock

	for name, test := range map[string]struct {
		do   func(*Attempts, *clock)
		want time.Duration
	}{
		"nothing was written":      {do: func(*Attempts, *clock) {}},
		"a write holds its key":    {do: func(a *Attempts, _ *clock) { a.Expect(key, shown) }, want: expectationTimeout},
		"a write holds no other":   {do: func(a *Attempts, _ *clock) { a.Expect(otherKey, shown) }},
		"until the cache shows it": {do: func(a *Attempts, _ *clock) { a.Expect(key, shown); a.Seen(key, Expectation{ID: id}) }},
		"a delete until it shows":  {do: func(a *Attempts, _ *clock) { a.Expect(key, deleted); a.Seen(key, Expectation{ID: id, Deleted: true}) }},
		"a create is no delete":    {do: func(a *Attempts, _ *clock) { a.Expect(key, deleted); a.Seen(key, Expectation{ID: id}) }, want: expectationTimeout},
		"a delete is no create":    {do: func(a *Attempts, _ *clock) { a.Expect(key, shown); a.Seen(key, Expectation{ID: id, Deleted: true}) }, want: expectationTimeout},
		"shown without a write":    {do: func(a *Attempts, _ *clock) { a.Seen(key, Expectation{ID: id}) }},
		"another object shows":     {do: func(a *Attempts, _ *clock) { a.Expect(key, shown); a.Seen(key, Expectation{ID: plan.ID{Name: "b"}}) }, want: expectationTimeout},
		"the longest counts": {
			do: func(a *Attempts, c *clock) {
				a.Expect(key, shown)
				c.SetTime(fixture.Now.Add(4 * time.Second))
				a.Expect(key, deleted)
			},
			want: expectationTimeout,
		},
		"it expires": {do: func(a *Attempts, c *clock) {
			a.Expect(key, shown)
			c.SetTime(fixture.Now.Add(expectationTimeout))
		}},
		"a clock that is set back holds no key for longer": {do: func(a *Attempts, c *clock) {
			a.Expect(key, shown)
			c.SetTime(fixture.Now.Add(-24 * time.Hour))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, c := newAttempts()
			test.do(a, c)
			if got := a.Expects(key); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if a.Known(key) != (test.want > 0) {
				t.Errorf("the key has state: %v", a.Known(key))
			}
		})
	}
}

// A watch that is broken shows no delete, for longer than its key is held back.
//
// Contract: RET-16.
func TestADeleteThatTheCacheDoesNotShowIsRemembered(t *testing.T) {
	of := func(name string, isDeleted bool) Expectation {
		return Expectation{ID: plan.ID{Name: name}, Deleted: isDeleted}
	}
	a, c := newAttempts()
	for _, x := range []Expectation{of("a", true), of("created", false)} {
		if !a.Expect(key, x) {
			t.Errorf("%v was expected already", x)
		}
	}
	if a.Expect(key, of("a", true)) {
		t.Error("a delete is expected for the first time twice")
	}
	c.SetTime(fixture.Now.Add(time.Hour))
	if got := a.Expects(key); got != 0 {
		t.Errorf("the key is held back for %s", got)
	}
	for x, want := range map[Expectation]bool{of("a", true): true, of("b", true): false, of("created", false): false} {
		if got := a.Unseen(key, x); got != want {
			t.Errorf("%v is not seen: %v, want %v", x, got, want)
		}
	}
	a.Seen(key, of("a", true))
	if a.Unseen(key, of("a", true)) || a.Known(key) {
		t.Error("state is left")
	}
}
