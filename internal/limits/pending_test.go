// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// upload shows a snapshot that is cut and not ready, which lasts.
func (s *storm) upload(name string) {
	s.note(s.Seen(s.now, snapshotOf(name), Stage{Created: s.created[name]}))
}

// Of a driver that cuts at once and uploads for long, never more snapshots are pending than may
// be, a namespace gets no place beyond half while others wait, and everybody is served.
//
// Contract: LIMIT-2.
func TestPendingIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(0)
		s.sizes = Sizes{InFlight: rapid.IntRange(0, 4).Draw(t, "in flight"), Pending: rapid.IntRange(1, 6).Draw(t, "pending")}
		finish := func() {
			gone := pick(t, s.created, "finished")
			delete(s.created, gone)
			s.cut(gone)
			s.settle()
		}
		for i := range rapid.IntRange(1, 80).Draw(t, "steps") {
			name := fmt.Sprintf("%d/s/%d", rapid.IntRange(1, 3).Draw(t, "namespace"), i)
			switch action := rapid.IntRange(0, 9).Draw(t, "action"); {
			case action < 6:
				s.pass(name)
			case action == 6:
				s.wait(s.now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "minutes")) * time.Minute))
			case len(s.created) == 0:
			case action == 7:
				finish()
			default:
				s.upload(pick(t, s.created, "uploads"))
			}
			for name := range s.created { // whoever is seen before it fails, uploads
				s.upload(name)
			}
			s.settle()
			if len(s.created) > s.sizes.Pending {
				t.Fatalf("%d are pending of %d", len(s.created), s.sizes.Pending)
			}
			if len(s.waiting) > 0 && len(s.created) == 0 {
				t.Fatalf("%v wait for nothing", s.waiting)
			}
		}
		for rounds := len(s.waiting) + len(s.created); len(s.waiting) > 0; rounds-- {
			if rounds == 0 {
				t.Fatalf("%d keys wait for ever", len(s.waiting))
			}
			finish()
		}
	})
}

// While a namespace waits, another one gets no place beyond half, however many become free.
//
// Contract: LIMIT-2.
func TestPendingIsShared(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStorm(0)
		s.sizes = Sizes{Pending: rapid.IntRange(1, 8).Draw(t, "pending")}
		for i := range 40 {
			s.pass(fmt.Sprintf("%d/s/%d", i%2, i))
		}
		for s.othersWait() {
			gone := pick(t, s.created, "finished")
			delete(s.created, gone)
			before := slices.Clone(s.served)
			s.cut(gone)
			s.settle()
			for _, name := range s.served[len(before):] {
				if n, half := s.counted()[key(name).Parent.Namespace], (s.sizes.Pending+1)/2; n > half && s.othersWait() {
					t.Fatalf("a namespace gets place %d of %d, and half is %d", n, s.sizes.Pending, half)
				}
			}
		}
	})
}

// othersWait returns whether keys of more than one namespace wait.
func (s *storm) othersWait() bool {
	namespaces := map[string]bool{}
	for name := range maps.Keys(s.waiting) {
		namespaces[key(name).Parent.Namespace] = true
	}
	return len(namespaces) > 1
}

// What a key waits for is said, and a driver whose limits are lifted keeps nobody waiting.
//
// Contract: LIMIT-1, LIMIT-2.
func TestWhyAKeyWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		sizes Sizes
		want  Reason
	}{
		"in flight": {sizes: Sizes{InFlight: 1, Pending: 2}, want: InFlight},
		"pending":   {sizes: Sizes{InFlight: 2, Pending: 1}, want: Pending},
		"neither":   {sizes: Sizes{InFlight: 2}},
	} {
		g := newTester(0)
		g.sizes = tc.sizes
		g.ask("a/s/1")
		why, _ := g.MayCreate(g.now, Create{Request: key("a/s/2"), Snapshot: snapshotOf("a/s/2"), Sizes: tc.sizes})
		if why != tc.want {
			t.Errorf("%s: waits for %q, want %q", name, why, tc.want)
		}
		g.sizes = Sizes{}
		if !g.ask("a/s/3") || why != "" && !slices.Equal(g.woken, []string{"a/s/2"}) {
			t.Errorf("%s: without limits, %v is woken", name, g.woken)
		}
	}
}
