// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func addInts(a, b int) int { return a + b }

// The totals are what a recount over all keys would give, and settled is what
// it would say.
func TestLedgerIsARecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parent := testKey.Parent
		l := newLedger(addInts, func(types.NamespacedName) {})
		l.open(parent, "uid", nil)
		known := map[string]summary[int]{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 8).Draw(t, "key"))
			req := Request{Parent: parent, MapKey: key}
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				l.remove(req, "uid")
				delete(known, key)
			case 1:
				all := l.open(parent, "uid", []string{key})
				if _, ok := known[key]; !ok {
					known[key] = summary[int]{}
				}
				if !slices.Equal(all, slices.Sorted(maps.Keys(known))) {
					t.Fatalf("open: got %v, want %v", all, known)
				}
			default:
				s := summary[int]{
					generation: rapid.Int64Range(1, 3).Draw(t, "generation"),
					note:       rapid.IntRange(0, 9).Draw(t, "note"),
				}
				for range rapid.IntRange(0, 3).Draw(t, "counts") {
					s.counts = append(s.counts, count{
						counter: rapid.SampledFrom([]counter{
							{of: ofInputs, resource: "secrets", name: total},
							{of: ofOutputs, resource: "pods", name: total},
							{of: ofOutputs, resource: "pods", name: "ready"},
							{of: ofDetachedKeys, name: total},
							{of: ofDetachedOutputs, resource: "pods", name: total},
						}).Draw(t, "counter"),
						n: rapid.IntRange(1, 5).Draw(t, "n"),
					})
				}
				l.put(req, "uid", s)
				known[key] = s
			}
		}
		wantTotals, wantNote, wantSettled := map[counter]int{}, 0, true
		for _, s := range known {
			for _, c := range s.counts {
				wantTotals[c.counter] += c.n
			}
			wantNote += s.note
			wantSettled = wantSettled && s.generation >= 2
		}
		totals, note, settled, ok := l.read(parent, "uid", 2)
		if !ok || note != wantNote || settled != wantSettled || !reflect.DeepEqual(totals, newTotals(wantTotals)) {
			t.Fatalf("got %v %d settled=%v, want %v %d settled=%v", totals, note, settled, newTotals(wantTotals), wantNote, wantSettled)
		}
	})
}

func TestLedgerTellsParentsApart(t *testing.T) {
	key := func(k string) Request { return Request{Parent: testKey.Parent, MapKey: k} }
	for name, test := range map[string]struct {
		do       func(*ledger[int])
		wantOK   bool
		wantNote int
		wantKnow []string
	}{
		"never opened": {do: func(*ledger[int]) {}},
		"a key alone opens no parent": {
			do: func(l *ledger[int]) { l.put(key("a"), "new", summary[int]{generation: 1, note: 1}) },
		},
		"opened": {
			do:     func(l *ledger[int]) { l.open(testKey.Parent, "new", []string{"a"}) },
			wantOK: true, wantKnow: []string{"a"},
		},
		"of another UID": {do: func(l *ledger[int]) { l.open(testKey.Parent, "old", nil) }},
		"made anew": {
			do: func(l *ledger[int]) {
				l.open(testKey.Parent, "old", []string{"a"})
				l.open(testKey.Parent, "new", []string{"b"})
			},
			wantOK: true, wantKnow: []string{"b"},
		},
		"made anew while a key of the old one was at work": {
			do: func(l *ledger[int]) {
				l.open(testKey.Parent, "old", []string{"a"})
				l.forget(testKey.Parent)
				l.open(testKey.Parent, "new", []string{"b"})
				l.put(key("b"), "new", summary[int]{generation: 1, note: 2})
				l.put(key("a"), "old", summary[int]{generation: 1, note: 1})
				l.remove(key("b"), "old")
			},
			wantOK: true, wantNote: 2, wantKnow: []string{"b"},
		},
		"gone while a key was at work": {
			do: func(l *ledger[int]) {
				l.open(testKey.Parent, "new", []string{"a"})
				l.forget(testKey.Parent)
				l.put(key("a"), "new", summary[int]{generation: 1, note: 1})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(addInts, func(types.NamespacedName) {})
			test.do(l)
			_, note, _, ok := l.read(testKey.Parent, "new", 1)
			if ok != test.wantOK || note != test.wantNote {
				t.Errorf("got note %d, ok=%v; want %d, %v", note, ok, test.wantNote, test.wantOK)
			}
			for _, k := range []string{"a", "b"} {
				if got := l.knows(key(k)); got != slices.Contains(test.wantKnow, k) {
					t.Errorf("knows %s: %v", k, got)
				}
			}
		})
	}
}
