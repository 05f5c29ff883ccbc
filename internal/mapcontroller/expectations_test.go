// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// Contract: MAP-7.
func TestExpectations(t *testing.T) {
	shown := expectation{id: idOf(testOutput("a"))}
	gone := expectation{id: idOf(testOutput("a")), gone: true}
	other := Request{Parent: testKey.Parent, MapKey: "other"}

	for name, test := range map[string]struct {
		do   func(*expectations, *clocktesting.FakePassiveClock)
		want time.Duration
	}{
		"nothing was written": {do: func(*expectations, *clocktesting.FakePassiveClock) {}},
		"a write holds the key back": {
			do:   func(e *expectations, _ *clocktesting.FakePassiveClock) { e.expect(testKey, shown) },
			want: expectationTimeout,
		},
		"but no other key": {do: func(e *expectations, _ *clocktesting.FakePassiveClock) { e.expect(other, shown) }},
		"until the cache shows it": {do: func(e *expectations, _ *clocktesting.FakePassiveClock) {
			e.expect(testKey, shown)
			e.met(testKey, shown)
		}},
		"that an output is there does not mean that it is gone": {
			do: func(e *expectations, _ *clocktesting.FakePassiveClock) {
				e.expect(testKey, gone)
				e.met(testKey, shown)
			},
			want: expectationTimeout,
		},
		"the longest counts": {
			do: func(e *expectations, c *clocktesting.FakePassiveClock) {
				e.expect(testKey, shown)
				c.SetTime(testNow.Add(4 * time.Second))
				e.expect(testKey, gone)
			},
			want: expectationTimeout,
		},
		"it ends by itself": {do: func(e *expectations, c *clocktesting.FakePassiveClock) {
			e.expect(testKey, shown)
			c.SetTime(testNow.Add(expectationTimeout))
		}},
		"met without being expected": {do: func(e *expectations, _ *clocktesting.FakePassiveClock) { e.met(testKey, shown) }},
		"a clock that is set back holds no key for longer": {
			do: func(e *expectations, c *clocktesting.FakePassiveClock) {
				e.expect(testKey, shown)
				c.SetTime(testNow.Add(-24 * time.Hour))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(testNow)
			e := newExpectations(clock)
			test.do(e, clock)
			if got := e.wait(testKey); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if test.want == 0 && len(e.pending[testKey]) > 0 {
				t.Error("an expectation is left behind")
			}
		})
	}
}
