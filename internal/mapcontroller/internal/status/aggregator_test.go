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
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

var parent = fixture.Request.Parent

func request(key string) plan.Request { return plan.Request{Parent: parent, MapKey: key} }

var search = plan.SearchOf(parent)

func newAggregator() (a *Aggregator, changes *int) {
	changes = new(int)
	return &Aggregator{Changed: func(types.NamespacedName) { *changes++ }, searched: map[string]bool{"": true}}, changes
}

func ofGeneration(uid types.UID, generation int64) client.Object {
	return fixture.Parent(func(p *appsv1.Deployment) { p.UID, p.Generation = uid, generation })
}

var paths = []plan.Path{
	{"inputs", "secrets", "total"}, {"outputs", "pods", "total"}, {"outputs", "pods", "Ready"}, {"detached", "mapKeys"}, {"detached", "pods"},
}

// model is what an Aggregator has to know: the key's last status, and under which
// generation it was decided and carried out.
type model struct {
	decided, settled int64
	awaited          bool
	status           *plan.KeyStatus
}

// Passes, new generations, new keys and caches that lagged come in any order. A status is
// never said to be known under a generation before each key that was found when the
// generation was first seen is decided under it, and the parent is settled only when each
// pass has ended. What is known is what a recount finds.
//
// Contract: STAT-9, STAT-12.
func TestAggregatorIsARecount(t *testing.T) {
	kinds := fixture.Kinds(t)
	rapid.Check(t, func(t *rapid.T) {
		a, _ := newAggregator()
		generation := int64(1)
		known := map[string]*model{}
		key := func() string { return strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "key")) }
		at := func(k string) *model {
			if known[k] == nil {
				known[k] = &model{}
			}
			return known[k]
		}
		status := func() plan.KeyStatus {
			s := plan.KeyStatus{Generation: generation, Status: rapid.IntRange(0, 9).Draw(t, "status")}
			for range rapid.IntRange(0, 3).Draw(t, "counts") {
				s.Counts = append(s.Counts, plan.Count{
					Path: unique.Make(rapid.SampledFrom(paths).Draw(t, "path")), N: rapid.IntRange(1, 5).Draw(t, "n"),
				})
			}
			return s
		}
		track := func() {
			found := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 5).Draw(t, "found")) }), 0, 4).Draw(t, "found")
			got := a.Track(ofGeneration("uid", generation), found)
			for _, k := range found {
				if !slices.Contains(got, k) {
					t.Fatalf("Track does not return %s, which it found", k)
				}
			}
			for k, m := range known {
				if m.status != nil && !slices.Contains(got, k) {
					t.Fatalf("Track does not return %s, which is known", k)
				}
			}
			for _, k := range found {
				at(k).awaited = true
			}
		}
		track()
		tracked := generation
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0: // an edit, which the status controller may see first
				generation++
				for _, m := range known {
					m.awaited = m.status != nil || m.awaited && m.decided == 0
				}
			case 1:
				if first := tracked != generation; first {
					track()
					tracked = generation
				} else {
					a.Track(ofGeneration("uid", generation), []string{key()}) // what appears later is not waited for
				}
			case 2: // nothing is left of a key, under the present spec or an earlier one
				k, of := key(), generation-rapid.Int64Range(0, 1).Draw(t, "old")
				a.Put(a.epoch, request(k), "uid", plan.KeyStatus{Generation: of}, false)
				if m := known[k]; of == tracked || m == nil || m.status == nil && !m.awaited {
					delete(known, k)
				} else {
					*m = model{decided: of, settled: of, awaited: true, status: &plan.KeyStatus{}}
				}
			case 3: // the cache lagged
				a.Undecide()
				for _, m := range known {
					if m.status != nil {
						m.decided, m.awaited = 0, true
					}
				}
			case 4: // a pass ends
				k, s, referred := key(), status(), rapid.Bool().Draw(t, "referred")
				a.Put(a.epoch, request(k), "uid", s, referred)
				*at(k) = model{decided: generation, settled: generation, status: &s}
				if referred {
					at(k).settled = 0
				}
			default: // a pass has decided, and its writes hang
				k, s := key(), status()
				a.Begin(request(k))
				a.Decide(a.epoch, request(k), "uid", s)
				if m := at(k); m.status == nil || m.decided != generation {
					*m = model{decided: generation, status: &s}
				} else {
					m.status = &plan.KeyStatus{Counts: s.Counts, Status: m.status.Status}
				}
			}
			all, decided := a.snapshot(ofGeneration("uid", generation))
			var want []*plan.KeyStatus
			wantDecided, wantSettled := tracked == generation, tracked == generation
			for _, m := range known {
				if m.status != nil {
					want = append(want, m.status)
				}
				wantDecided = wantDecided && (m.decided == generation || !m.awaited)
				wantSettled = wantSettled && (m.settled == generation || m.status == nil && !m.awaited)
			}
			if decided && !wantDecided {
				t.Fatalf("known under generation %d, although a key is not decided", generation)
			}
			if a.Settled(ofGeneration("uid", generation)) && (!wantDecided || !wantSettled) {
				t.Fatalf("settled under generation %d, although a pass has not ended", generation)
			}
			if decided != wantDecided {
				t.Fatalf("known: %v, want %v", decided, wantDecided)
			}
			if decided && !maps.Equal(NewSummary(kinds, all...).Totals, NewSummary(kinds, want...).Totals) {
				t.Fatalf("got %v, want %v", all, want)
			}
		}
	})
}

// What a pass is about to make is not seen yet. Until it has ended, its parent is not
// settled, whether or not its key is known. What appears later is not waited for.
func TestAggregatorCountsPassesUnderWay(t *testing.T) {
	for name, test := range map[string]struct {
		key      string
		known    *plan.KeyStatus
		end      *plan.KeyStatus
		referred bool
		wantKeys []string
		want     bool
	}{
		"of a new key":             {key: "new", wantKeys: []string{"new"}},
		"as an older spec asked":   {key: "new", end: &plan.KeyStatus{Generation: 1, Status: 1}, wantKeys: []string{"new"}},
		"as the spec asks":         {key: "new", end: &plan.KeyStatus{Generation: 2, Status: 1}, wantKeys: []string{"new"}, want: true},
		"with a reference left":    {key: "new", end: &plan.KeyStatus{Generation: 2, Status: 1}, referred: true, wantKeys: []string{"new"}},
		"nothing is left":          {key: "new", end: &plan.KeyStatus{Generation: 2}, want: true},
		"nothing, once released":   {key: "new", end: &plan.KeyStatus{Generation: 2}, referred: true, want: true},
		"of a known key":           {key: "a", known: &plan.KeyStatus{Generation: 2, Status: 1}, wantKeys: []string{"a"}, want: true},
		"of a known key, as older": {key: "a", known: &plan.KeyStatus{Generation: 1, Status: 1}, wantKeys: []string{"a"}},
		"without a map key":        {want: true},
	} {
		t.Run(name, func(t *testing.T) {
			a, changes := newAggregator()
			a.Begin(request(test.key)) // the parent is not tracked
			a.Track(ofGeneration("uid", 2), nil)
			if test.known != nil {
				a.Put(a.epoch, request(test.key), "uid", *test.known, false)
			}
			a.Begin(request(test.key))
			before := *changes
			if test.end != nil {
				a.Put(a.epoch, request(test.key), "uid", *test.end, test.referred)
			}
			if settled := a.Settled(ofGeneration("uid", 2)); settled != test.want || (test.end != nil) != (*changes > before) {
				t.Errorf("settled %v, want %v; %d changes", settled, test.want, *changes-before)
			}
			if keys := a.Track(ofGeneration("uid", 2), nil); !slices.Equal(keys, test.wantKeys) {
				t.Errorf("keys %v, want %v", keys, test.wantKeys)
			}
		})
	}
	a, _ := newAggregator()
	if a.Settled(ofGeneration("uid", 2)) {
		t.Error("a parent that is not tracked is settled")
	}
}

// A decision makes a key known at once, and counts it again. What the writes of the pass
// before came to stays until the pass has ended, unless the decision is under a new
// generation.
//
// Contract: STAT-12.
func TestAggregatorDecides(t *testing.T) {
	a, changes := newAggregator()
	a.Track(ofGeneration("uid", 1), []string{"a"})
	status := func() any {
		all, decided := a.snapshot(ofGeneration("uid", 1))
		if !decided || len(all) != 1 {
			return nil
		}
		return all[0].Status
	}
	if status() != nil || a.Decided(request("a"), ofGeneration("uid", 1)) {
		t.Error("known before any pass")
	}
	decide := func(uid types.UID, s any) any {
		return a.Decide(a.epoch, request("a"), uid, plan.KeyStatus{Generation: 1, Status: s})
	}
	if previous := decide("uid", "decided"); previous != nil || status() != "decided" || *changes != 2 || a.Settled(ofGeneration("uid", 1)) {
		t.Errorf("decided: %v, was %v, %d changes", status(), previous, *changes)
	}
	a.Put(a.epoch, request("a"), "uid", plan.KeyStatus{Generation: 1, Status: "done"}, false)
	if previous := decide("uid", "again"); previous != "done" || status() != "done" || !a.Settled(ofGeneration("uid", 1)) {
		t.Errorf("the next pass: %v, was %v", status(), previous)
	}
	count := plan.Count{Path: unique.Make(paths[1]), N: 3}
	for range 2 {
		a.Decide(a.epoch, request("a"), "uid", plan.KeyStatus{Generation: 1, Counts: []plan.Count{count}, Status: "counted"})
		all, _ := a.snapshot(ofGeneration("uid", 1))
		if status() != "done" || !slices.Equal(all[0].Counts, []plan.Count{count}) || *changes != 4 {
			t.Errorf("counted again: %+v, %d changes", all[0], *changes)
		}
	}
	if previous := decide("other", "theirs"); previous != nil || status() != "done" {
		t.Errorf("of an earlier parent: %v, was %v", status(), previous)
	}
	if a.Decided(request("a"), ofGeneration("uid", 2)) || !a.Decided(request("a"), ofGeneration("uid", 1)) {
		t.Error("decided under another generation")
	}
	a.Decide(a.epoch, search, "uid", plan.KeyStatus{Generation: 1, Status: "released"})
	if status() != "done" {
		t.Error("a key without outputs in the cache is waited for")
	}
}

// An output that may have lost its map key is waited for, until a pass has looked for it. A new generation
// alone has nobody look.
//
// Contract: STAT-12.
func TestAggregatorAwaitsOutputsWithoutAMapKey(t *testing.T) {
	a, _ := newAggregator()
	decided := func(generation int64) bool {
		_, decided := a.snapshot(ofGeneration("uid", generation))
		return decided
	}
	a.AwaitSearch(search.Parent) // the parent is not tracked
	a.Track(ofGeneration("uid", 1), nil)
	if !decided(1) {
		t.Error("awaited before anything happened")
	}
	for _, found := range []any{"refused", nil} {
		a.AwaitSearch(search.Parent)
		if decided(1) {
			t.Errorf("decided before a pass found %v", found)
		}
		a.Put(a.Begin(search), search, "uid", plan.KeyStatus{Generation: 1, Status: found}, false)
		if !decided(1) {
			t.Errorf("undecided after a pass found %v", found)
		}
	}
	a.Put(a.epoch, search, "uid", plan.KeyStatus{Generation: 1, Status: "refused"}, false)
	a.Track(ofGeneration("uid", 2), nil)
	if !decided(2) {
		t.Error("awaited under a new generation")
	}
}

// A pass that looked before an output may have lost its map key does not end the wait for it.
//
// Contract: STAT-12.
func TestAggregatorAwaitsOutputsThatWereLostDuringAPass(t *testing.T) {
	for name, found := range map[string]any{"nothing": nil, "a refused release": "refused"} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAggregator()
			decided := func() bool {
				_, decided := a.snapshot(ofGeneration("uid", 1))
				return decided
			}
			a.Track(ofGeneration("uid", 1), nil)
			pass := func(during func()) {
				epoch := a.Begin(search)
				during()
				a.Put(epoch, search, "uid", plan.KeyStatus{Generation: 1, Status: found}, false)
			}
			pass(func() { a.AwaitSearch(search.Parent) })
			if decided() {
				t.Error("decided by a pass that began before")
			}
			pass(func() {})
			if !decided() {
				t.Error("undecided by a pass that began after")
			}
		})
	}
}

// Whoever changes such outputs faster than they are listed does not keep the status from being written: it is one pass old then.
//
// Contract: STAT-12.
func TestAggregatorIsDecidedThoughEveryPassIsOvertaken(t *testing.T) {
	for name, found := range map[string]any{"nothing": nil, "a refused release": "refused"} {
		t.Run(name, func(t *testing.T) {
			a, _ := newAggregator()
			a.Track(ofGeneration("uid", 1), nil)
			for pass := range 5 {
				epoch := a.Begin(search)
				a.AwaitSearch(search.Parent)
				a.Put(epoch, search, "uid", plan.KeyStatus{Generation: 1, Status: found}, false)
				if _, decided := a.snapshot(ofGeneration("uid", 1)); decided != (pass > 0) {
					t.Errorf("after pass %d: decided %v", pass, decided)
				}
			}
			a.Put(a.Begin(search), search, "uid", plan.KeyStatus{Generation: 1, Status: found}, false)
			a.AwaitSearch(search.Parent)
			if _, decided := a.snapshot(ofGeneration("uid", 1)); decided {
				t.Error("not awaited after a pass that nothing has overtaken")
			}
		})
	}
}

// A key of which a pass found nothing under an older spec, or in a cache that lagged, is still waited
// for: the present one may select an input of it.
//
// Contract: STAT-12.
func TestAggregatorAwaitsKeysOfWhichAnOlderPassFoundNothing(t *testing.T) {
	end := map[string]func(*Aggregator, Epoch, plan.KeyStatus){
		"its decision": func(a *Aggregator, epoch Epoch, s plan.KeyStatus) { a.Decide(epoch, request("a"), "uid", s) },
		"its end":      func(a *Aggregator, epoch Epoch, s plan.KeyStatus) { a.Put(epoch, request("a"), "uid", s, false) },
	}
	for name, end := range end {
		t.Run(name, func(t *testing.T) {
			a, _ := newAggregator()
			a.Track(ofGeneration("uid", 1), nil)
			epoch := a.Begin(request("a"))
			a.Track(ofGeneration("uid", 2), []string{"a"})
			end(a, epoch, plan.KeyStatus{Generation: 1})
			if _, decided := a.snapshot(ofGeneration("uid", 2)); decided {
				t.Error("decided under generation 2 by a pass under generation 1")
			}
			end(a, a.Begin(request("a")), plan.KeyStatus{Generation: 2})
			if _, decided := a.snapshot(ofGeneration("uid", 2)); !decided || a.Knows(request("a")) {
				t.Error("undecided under generation 2, or known although nothing is left")
			}
			a.Track(ofGeneration("uid", 3), []string{"a"})
			epoch = a.Begin(request("a"))
			a.Undecide()
			end(a, epoch, plan.KeyStatus{Generation: 3})
			if _, decided := a.snapshot(ofGeneration("uid", 3)); decided {
				t.Error("decided by a pass of an earlier epoch")
			}
		})
	}
}

// A pass that observed before every key was undecided decides nothing, whenever it ends.
//
// Contract: STAT-12.
func TestAggregatorPassesOfAnEarlierEpochDecideNothing(t *testing.T) {
	a, _ := newAggregator()
	a.Track(ofGeneration("uid", 1), []string{"a", "b"})
	old := plan.KeyStatus{Generation: 1, Status: "old"}
	epoch := a.Begin(request("a"))
	a.Decide(epoch, request("a"), "uid", old)
	a.Undecide()
	a.Decide(epoch, request("b"), "uid", old)
	a.Put(epoch, request("a"), "uid", old, false)
	for _, key := range []string{"a", "b"} {
		if a.Decided(request(key), ofGeneration("uid", 1)) {
			t.Errorf("%s is decided by an old pass", key)
		}
		a.Put(a.Begin(request(key)), request(key), "uid", old, false)
	}
	if !a.Settled(ofGeneration("uid", 1)) {
		t.Error("not settled by new passes")
	}
}

func TestAggregatorTellsParentsApart(t *testing.T) {
	put := func(a *Aggregator, key string, uid types.UID, status any) {
		a.Put(a.epoch, request(key), uid, plan.KeyStatus{Generation: 1, Status: status}, false)
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
		"tracked":                      {do: func(a *Aggregator) { a.Track(ofGeneration("new", 1), []string{"a"}) }, wantOK: true, wantKnown: []string{"a"}, wantChanges: 1},
		"put again as it was": {
			do: func(a *Aggregator) {
				a.Track(ofGeneration("new", 1), nil)
				put(a, "b", "new", 1)
				put(a, "b", "new", 1)
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 2, want: 1,
		},
		"tracked under another UID": {do: func(a *Aggregator) { a.Track(ofGeneration("old", 1), nil) }, wantChanges: 1},
		"removing an unknown key": {do: func(a *Aggregator) {
			a.Track(ofGeneration("new", 1), nil)
			a.Put(a.epoch, request("a"), "new", plan.KeyStatus{}, false)
		}, wantOK: true, wantChanges: 1},
		"deleted while a key reconciles": {do: func(a *Aggregator) {
			a.Track(ofGeneration("new", 1), nil)
			a.Forget(parent, "new")
			put(a, "b", "new", 1)
		}, wantChanges: 1},
		// A pass that found no parent may be late.
		"created again, and then the earlier one forgotten": {
			do: func(a *Aggregator) {
				a.Track(ofGeneration("new", 1), []string{"b"})
				a.Forget(parent, "old")
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 1,
		},
		"created again": {
			do: func(a *Aggregator) {
				a.Track(ofGeneration("old", 1), []string{"a"})
				a.Track(ofGeneration("new", 1), []string{"b"})
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 2,
		},
		"created again while a key reconciles": {
			do: func(a *Aggregator) {
				a.Track(ofGeneration("old", 1), []string{"a"})
				a.Forget(parent, "old")
				a.Track(ofGeneration("new", 1), []string{"b"})
				put(a, "b", "new", 2)
				put(a, "a", "old", 1)
				a.Put(a.epoch, request("b"), "old", plan.KeyStatus{}, false)
			},
			wantOK: true, wantKnown: []string{"b"}, wantChanges: 3, want: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, changes := newAggregator()
			test.do(a)
			if ok := a.of(parent, "new") != nil; ok != test.wantOK || *changes != test.wantChanges {
				t.Errorf("ok=%v after %d changes, want %v after %d", ok, *changes, test.wantOK, test.wantChanges)
			}
			for _, k := range []string{"a", "b"} {
				if got := a.Knows(request(k)); got != slices.Contains(test.wantKnown, k) {
					t.Errorf("knows %s: %v", k, got)
				}
			}
			if got := a.Decide(a.epoch, request("b"), "new", plan.KeyStatus{Generation: 1, Status: -1}); got != test.want {
				t.Errorf("status %v, want %v", got, test.want)
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
	a.Track(ofGeneration("uid", 1), nil)
	for i := range 100_000 {
		a.Put(a.epoch, request(strconv.Itoa(i)), "uid", plan.KeyStatus{Generation: 1, Counts: counts}, false)
	}
	b.ReportAllocs()
	for b.Loop() {
		all, _ := a.snapshot(ofGeneration("uid", 1))
		NewSummary(kinds, all...)
	}
}
