// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"unique"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

var parent = fixture.Request.Parent

func request(key string) plan.Request { return plan.Request{Parent: parent, MapKey: key} }

func newAggregator() (a *Aggregator, changes *int) {
	changes = new(int)
	return &Aggregator{Changed: func(types.NamespacedName) { *changes++ }}, changes
}

func ofGeneration(uid types.UID, generation int64) client.Object {
	return fixture.Parent(func(p *appsv1.Deployment) { p.UID, p.Generation = uid, generation })
}

var paths = []plan.Path{
	{"inputs", "secrets", "total"}, {"outputs", "pods", "total"}, {"outputs", "pods", "Ready"}, {"detached", "mapKeys"}, {"detached", "pods"},
}

// The aggregator holds what a recount over all keys would find.
func TestAggregatorIsARecount(t *testing.T) {
	kinds := fixture.Kinds(t)
	rapid.Check(t, func(t *rapid.T) {
		a, _ := newAggregator()
		a.Track(parent, "uid", nil)
		known := map[string]*plan.KeyStatus{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := strconv.Itoa(rapid.IntRange(0, 8).Draw(t, "key"))
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				a.Put(request(key), "uid", plan.KeyStatus{})
				delete(known, key)
			case 1:
				all := a.Track(parent, "uid", []string{key})
				if known[key] == nil {
					known[key] = notReconciled
				}
				if !slices.Equal(all, slices.Sorted(maps.Keys(known))) {
					t.Fatalf("Track: got %v, want %v", all, known)
				}
			default:
				s := &plan.KeyStatus{
					Generation: rapid.Int64Range(1, 3).Draw(t, "generation"), Status: rapid.IntRange(0, 9).Draw(t, "status"),
				}
				for range rapid.IntRange(0, 3).Draw(t, "counts") {
					s.Counts = append(s.Counts, plan.Count{
						Path: unique.Make(rapid.SampledFrom(paths).Draw(t, "path")), N: rapid.IntRange(1, 5).Draw(t, "n"),
					})
				}
				a.Put(request(key), "uid", *s)
				known[key] = s
			}
			if previous := a.Previous(request(key), "uid"); known[key] != nil && previous != known[key].Status {
				t.Fatalf("Previous: got %v, want %v", previous, known[key].Status)
			}
		}
		all, settled, ok := a.snapshot(ofGeneration("uid", 2))
		want, wantSettled := slices.Collect(maps.Values(known)), true
		for _, s := range want {
			wantSettled = wantSettled && s.Generation >= 2
		}
		if !ok || settled != wantSettled || len(all) != len(want) || !maps.Equal(NewSummary(kinds, all...).Totals, NewSummary(kinds, want...).Totals) {
			t.Fatalf("got %v settled=%v, want %v settled=%v", all, settled, want, wantSettled)
		}
	})
}

// What a pass is about to make is not seen yet. Until it has ended, its parent is not
// settled, whether or not its key is known.
func TestAggregatorCountsPassesUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		key      string
		known    *plan.KeyStatus
		end      *plan.KeyStatus
		wantKeys []string
		want     bool
	}{
		"of a new key":             {key: "new", wantKeys: []string{"new"}},
		"as an older spec asked":   {key: "new", end: &plan.KeyStatus{Generation: 1, Status: 1}, wantKeys: []string{"new"}},
		"as the spec asks":         {key: "new", end: &plan.KeyStatus{Generation: 2, Status: 1}, wantKeys: []string{"new"}, want: true},
		"nothing is left":          {key: "new", end: &plan.KeyStatus{Generation: 2}, want: true},
		"of a known key":           {key: "a", known: &plan.KeyStatus{Generation: 2, Status: 1}, wantKeys: []string{"a"}, want: true},
		"of a known key, as older": {key: "a", known: &plan.KeyStatus{Generation: 1, Status: 1}, wantKeys: []string{"a"}},
		"without a map key":        {want: true},
	} {
		t.Run(name, func(t *testing.T) {
			a, changes := newAggregator()
			a.Begin(request(test.key)) // the parent is not tracked
			a.Track(parent, "uid", nil)
			if test.known != nil {
				a.Put(request(test.key), "uid", *test.known)
			}
			a.Begin(request(test.key))
			before := *changes
			if test.end != nil {
				a.Put(request(test.key), "uid", *test.end)
			}
			if settled := a.Settled(ofGeneration("uid", 2)); settled != test.want || (test.end != nil) != (*changes > before) {
				t.Errorf("settled %v, want %v; %d changes", settled, test.want, *changes-before)
			}
			if keys := a.Track(parent, "uid", nil); !slices.Equal(keys, test.wantKeys) {
				t.Errorf("keys %v, want %v", keys, test.wantKeys)
			}
		})
	}
	a, _ := newAggregator()
	if a.Settled(ofGeneration("uid", 2)) {
		t.Error("a parent that is not tracked is settled")
	}
}

func TestAggregatorTellsParentsApart(t *testing.T) {
	put := func(a *Aggregator, key string, uid types.UID, status any) {
		a.Put(request(key), uid, plan.KeyStatus{Generation: 1, Status: status})
	}
	for name, test := range map[string]struct {
		do          func(*Aggregator)
		wantOK      bool
		wantKnown   []string
		wantChanges int
		want        any // the status of key b
	}{
		"never tracked":                {do: func(*Aggregator) {}},
		"a key alone tracks no parent": {do: func(a *Aggregator) { put(a, "b", "new", 1) }},
		"tracked":                      {do: func(a *Aggregator) { a.Track(parent, "new", []string{"a"}) }, wantOK: true, wantKnown: []string{"a"}, wantChanges: 1},
		"put again as it was": {
			do:     func(a *Aggregator) { a.Track(parent, "new", nil); put(a, "b", "new", 1); put(a, "b", "new", 1) },
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 2, want: 1,
		},
		"tracked under another UID":      {do: func(a *Aggregator) { a.Track(parent, "old", nil) }, wantChanges: 1},
		"removing an unknown key":        {do: func(a *Aggregator) { a.Track(parent, "new", nil); a.Put(request("a"), "new", plan.KeyStatus{}) }, wantOK: true, wantChanges: 1},
		"deleted while a key reconciles": {do: func(a *Aggregator) { a.Track(parent, "new", nil); a.Forget(parent, "new"); put(a, "b", "new", 1) }, wantChanges: 1},
		// A pass that found no parent may be late.
		"created again, and then the earlier one forgotten": {
			do: func(a *Aggregator) {
				a.Track(parent, "new", []string{"b"})
				a.Forget(parent, "old")
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 1,
		},
		"created again": {
			do: func(a *Aggregator) {
				a.Track(parent, "old", []string{"a"})
				a.Track(parent, "new", []string{"b"})
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 2,
		},
		"created again while a key reconciles": {
			do: func(a *Aggregator) {
				a.Track(parent, "old", []string{"a"})
				a.Forget(parent, "old")
				a.Track(parent, "new", []string{"b"})
				put(a, "b", "new", 2)
				put(a, "a", "old", 1)
				a.Put(request("b"), "old", plan.KeyStatus{})
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 3, want: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, changes := newAggregator()
			test.do(a)
			if _, _, ok := a.snapshot(ofGeneration("new", 1)); ok != test.wantOK || *changes != test.wantChanges {
				t.Errorf("ok=%v after %d changes, want %v after %d", ok, *changes, test.wantOK, test.wantChanges)
			}
			if got := a.Previous(request("b"), "new"); got != test.want {
				t.Errorf("status %v, want %v", got, test.want)
			}
			for _, k := range []string{"a", "b"} {
				if got := a.Knows(request(k)); got != slices.Contains(test.wantKnown, k) {
					t.Errorf("knows %s: %v", k, got)
				}
			}
		})
	}
}

func BenchmarkSummary(b *testing.B) {
	a, _ := newAggregator()
	kinds, counts := fixture.Kinds(b), []plan.Count{}
	for _, path := range paths {
		counts = append(counts, plan.Count{Path: unique.Make(path), N: 1})
	}
	a.Track(parent, "uid", nil)
	for i := range 100_000 {
		a.Put(request(strconv.Itoa(i)), "uid", plan.KeyStatus{Generation: 1, Counts: counts})
	}
	b.ReportAllocs()
	for b.Loop() {
		all, _, _ := a.snapshot(ofGeneration("uid", 1))
		NewSummary(kinds, all...)
	}
}
