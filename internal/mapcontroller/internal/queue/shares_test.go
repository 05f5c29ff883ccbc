// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

func of(namespace string, key int) plan.Request {
	req := request("p", fmt.Sprint(key))
	req.Parent.Namespace = namespace
	return req
}

// enterAll returns how many keys of a namespace may be reconciled at a time.
func enterAll(s *Shares[plan.Request], namespace string) (n int) {
	for s.Enter(namespace, of(namespace, n)) {
		n++
	}
	return n
}

func TestShares(t *testing.T) {
	for name, test := range map[string]struct {
		workers int
		// want is how many workers namespaces get that come one after the other and want
		// all of them.
		want []int
	}{
		"one worker":   {workers: 1, want: []int{1}},
		"two workers":  {workers: 2, want: []int{1, 1}},
		"many workers": {workers: 32, want: []int{16, 8, 4, 2, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Shares[plan.Request]{Workers: test.workers, Wake: func(plan.Request) {}}
			for i, want := range test.want {
				if got := enterAll(s, fmt.Sprint("ns", i)); got != want {
					t.Errorf("namespace %d holds %d workers, want %d", i, got, want)
				}
			}
		})
	}
}

// A key that had to wait is woken once, when a worker of its namespace is free.
func TestSharesWakeWhoWaits(t *testing.T) {
	var woken []plan.Request
	s := &Shares[plan.Request]{Workers: 4, Wake: func(req plan.Request) { woken = append(woken, req) }}
	if got := enterAll(s, "a"); got != 2 {
		t.Fatalf("%d workers", got)
	}
	s.Enter("a", of("a", 2)) // as an event does
	s.Enter("a", of("a", 3))
	s.Leave("a")
	if !slices.Equal(woken, []plan.Request{of("a", 2)}) {
		t.Errorf("woken %v", woken)
	}
	if s.Enter("a", of("a", 9)) {
		t.Error("a key that comes later takes the worker")
	}
	if !s.Enter("a", of("a", 2)) {
		t.Error("the key that was woken has no worker")
	}
	for _, key := range []int{3, 9} {
		s.Leave("a")
		if !s.Enter("a", of("a", key)) {
			t.Errorf("key %d has no worker", key)
		}
	}
	s.Leave("a")
	s.Leave("a")
	if want := []plan.Request{of("a", 2), of("a", 3), of("a", 9)}; !slices.Equal(woken, want) {
		t.Errorf("woken %v, want %v", woken, want)
	}
	if len(s.namespaces) != 0 || s.busy != 0 {
		t.Errorf("left: %v", s.namespaces)
	}
}

// Whatever namespaces do, each that wants to gets a worker, and every key runs.
func TestSharesServeEverybody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 12).Draw(t, "workers")
		queue, running, pending := []plan.Request{}, []plan.Request{}, map[plan.Request]bool{}
		s := &Shares[plan.Request]{Workers: workers, Wake: func(req plan.Request) { queue = append(queue, req) }}
		for namespace := range rapid.IntRange(1, 6).Draw(t, "namespaces") {
			for key := range rapid.IntRange(1, 40).Draw(t, "keys") {
				req := of(fmt.Sprint(namespace), key)
				queue, pending[req] = append(queue, req), true
			}
		}
		for step := 0; len(pending) > 0; step++ {
			if step > 10_000 {
				t.Fatalf("%d keys never run", len(pending))
			}
			if len(queue) > 0 && len(running) < workers && (len(running) == 0 || rapid.Bool().Draw(t, "start")) {
				i := rapid.IntRange(0, len(queue)-1).Draw(t, "key")
				req := queue[i]
				queue = append(queue[:i:i], queue[i+1:]...)
				if s.Enter(req.Parent.Namespace, req) {
					running = append(running, req)
				} else if s.namespaces[req.Parent.Namespace].busy == 0 {
					t.Fatalf("%v waits, and its namespace has no worker", req)
				}
				continue
			}
			if len(running) == 0 {
				t.Fatalf("nothing runs, %d keys wait", len(pending))
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "done")
			s.Leave(running[i].Parent.Namespace)
			delete(pending, running[i])
			running = append(running[:i:i], running[i+1:]...)
		}
	})
}

// A key waits in its worker for a share that is free soon, and is not woken.
func TestSharesWaitForAShareThatIsFreeSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Shares[plan.Request]{Workers: 2, Patience: time.Second, Wake: func(req plan.Request) { t.Errorf("%v is woken", req) }}
		if !s.Enter("a", of("a", 0)) {
			t.Fatal("the first key has no worker")
		}
		entered := make(chan bool, 1)
		start := time.Now()
		go func() { entered <- s.Enter("a", of("a", 1)) }()
		time.Sleep(time.Second / 2)
		s.Leave("a")
		if ok := <-entered; !ok || time.Since(start) != time.Second/2 {
			t.Errorf("entered: %v after %s", ok, time.Since(start))
		}
		if s.Enter("a", of("a", 2)) {
			t.Error("a key has a worker after the patience")
		}
	})
}
