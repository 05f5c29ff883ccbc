// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

var key, otherKey = fixture.Request, plan.Request{Parent: fixture.Request.Parent, MapKey: "other"}

func newAttempts() (*Attempts, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(fixture.Now)
	return NewAttempts(clock), clock
}

// Every pass has a delay, because an event consumes the one of the pass before.
func TestDelayIsThatOfTheEarliest(t *testing.T) {
	for name, test := range map[string]struct {
		next        time.Duration // zero: never
		fails       int
		reservation time.Duration
		want        time.Duration
	}{
		"nothing is due":                              {want: LongestDelay},
		"a due time":                                  {next: time.Minute, want: time.Minute},
		"a due time far away":                         {next: 48 * time.Hour, want: LongestDelay},
		"a due time that has passed":                  {next: -time.Hour, want: time.Millisecond},
		"the first failure":                           {fails: 1, want: FirstRetry},
		"the third failure":                           {fails: 3, want: 4 * FirstRetry},
		"the last failure":                            {fails: 30, want: LastRetry},
		"a due time before the retry":                 {fails: 30, next: time.Minute, want: time.Minute},
		"a retry before the due time":                 {fails: 1, next: time.Minute, want: FirstRetry},
		"a reservation before the due time":           {reservation: 2 * time.Second, next: time.Minute, want: 2 * time.Second},
		"a due time before the reservation":           {reservation: time.Hour, next: time.Minute, want: time.Minute},
		"a reservation before the retry":              {reservation: time.Second / 2, fails: 1, want: time.Second / 2},
		"a retry before the reservation and due time": {reservation: time.Minute, fails: 1, next: time.Hour, want: FirstRetry},
	} {
		t.Run(name, func(t *testing.T) {
			a, clock := newAttempts()
			for range test.fails - 1 {
				clock.SetTime(clock.Now().Add(a.Finish(key, Pass{Failed: true})))
			}
			p := Pass{Failed: test.fails > 0}
			if test.next != 0 {
				p.Next = clock.Now().Add(test.next)
			}
			if test.reservation > 0 {
				p.DeleteAt, p.Waits = clock.Now().Add(test.reservation), true
			}
			if got := a.Finish(key, p); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := a.NumRequeues(key); got != test.fails {
				t.Errorf("%d failures, want %d", got, test.fails)
			}
			if p.Failed {
				// The queue asks more than once for a pass.
				for range 3 {
					if got := a.When(key); got != test.want {
						t.Errorf("When: %s, want %s", got, test.want)
					}
				}
			}
		})
	}
}

func TestWhenIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		after time.Duration
		want  time.Duration
	}{
		"as it was":                           {0, FirstRetry},
		"later":                               {FirstRetry / 4, 3 * FirstRetry / 4},
		"when it is due":                      {FirstRetry, time.Millisecond},
		"soon after":                          {FirstRetry + time.Second/2, time.Millisecond},
		"long after, as when a pass panicked": {time.Hour, FirstRetry},
		"after the clock was set":             {-24 * time.Hour, LongestDelay},
	} {
		t.Run(name, func(t *testing.T) {
			a, clock := newAttempts()
			a.Finish(key, Pass{Failed: true})
			clock.SetTime(fixture.Now.Add(test.after))
			a.Forget(key) // the queue's opinion does not count
			if got := a.When(key); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := a.When(otherKey); got != FirstRetry {
				t.Errorf("a key without state waits %s", got)
			}
		})
	}
}

// The delay grows with the passes that were due, not with those that an event
// caused.
func TestBackoffGrowsWithDueAttempts(t *testing.T) {
	a, clock := newAttempts()
	now := fixture.Now
	fail := func(elapsed, want time.Duration) {
		t.Helper()
		now = now.Add(elapsed)
		clock.SetTime(now)
		if got := a.Finish(key, Pass{Failed: true}); got != want {
			t.Fatalf("after another %s: %s, want %s", elapsed, got, want)
		}
	}
	fail(0, time.Second)
	fail(0, time.Second) // an event
	fail(600*time.Millisecond, 400*time.Millisecond)
	fail(400*time.Millisecond, 2*time.Second) // the retry
	fail(2*time.Second, 4*time.Second)
	if got := a.Finish(otherKey, Pass{Failed: true}); got != time.Second {
		t.Errorf("another key waits %s", got)
	}
	fail(-24*time.Hour, 8*time.Second) // the clock was set back
	for range 20 {
		now = now.Add(LastRetry)
		clock.SetTime(now)
		if got := a.Finish(key, Pass{Failed: true}); got > LastRetry {
			t.Fatalf("waits %s, want %s at most", got, LastRetry)
		}
	}
	a.Finish(key, Pass{})
	fail(0, time.Second)
}

func TestStateDisappears(t *testing.T) {
	held := types.UID("a-uid")
	for name, test := range map[string]struct {
		do   func(*Attempts)
		want int
	}{
		"a pass that succeeds":          {do: func(a *Attempts) { a.Finish(key, Pass{}) }},
		"a pass that fails":             {do: func(a *Attempts) { a.Finish(key, Pass{Failed: true}) }, want: 1},
		"a failure, and then a success": {do: func(a *Attempts) { a.Finish(key, Pass{Failed: true}); a.Finish(key, Pass{}) }},
		"a failed delete":               {do: func(a *Attempts) { a.Failed(key, held, errors.New("denied")) }, want: 1},
		"a failed delete that is made":  {do: func(a *Attempts) { a.Failed(key, held, errors.New("denied")); a.Succeeded(key, held) }},
		"a failed delete that is wanted": {do: func(a *Attempts) {
			a.Failed(key, held, errors.New("denied"))
			a.Finish(key, Pass{Wanted: []client.Object{fixture.Output("a")}})
		}, want: 1},
		"a failed delete no longer wanted": {do: func(a *Attempts) { a.Failed(key, held, errors.New("denied")); a.Finish(key, Pass{}) }},
		"an expectation that is met":       {do: func(a *Attempts) { a.Expect(key, Expectation{}); a.Seen(key, Expectation{ID: plan.ID{}}) }},
		"a parent that is gone": {do: func(a *Attempts) {
			a.Finish(key, Pass{Failed: true})
			a.Failed(key, held, errors.New("denied"))
			a.Expect(key, Expectation{})
			a.Drop(key)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAttempts()
			test.do(a)
			if got := len(a.keys); got != test.want {
				t.Errorf("%d keys have state, want %d", got, test.want)
			}
		})
	}
}

// A key with nothing to remember costs no memory.
func TestPassWithoutStateAllocatesNothing(t *testing.T) {
	a, _ := newAttempts()
	if n := testing.AllocsPerRun(100, func() {
		a.Expects(key)
		_, _ = a.BackingOff(key, "a-uid")
		a.Finish(key, Pass{Next: fixture.Now.Add(time.Hour)})
		a.When(key)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
