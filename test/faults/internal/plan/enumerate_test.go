// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func point(verb, resource, object string) Point {
	return Point{Verb: verb, Resource: resource, Object: object, Nth: 1}
}

// small is a trace with one point of each kind, and two writes.
func small() Reference {
	trace := Trace{
		point("get", Path, "/api"),
		point("list", "volumesnapshots", "all"),
		point("live-list", "volumesnapshots", "all"),
		point("get", "snapshotschedules", "nightly"),
		point("delete", "volumesnapshots", "data-0-old-0"),
		point("deleted", "volumesnapshots", "data-0-old-0"),
		point("create", "volumesnapshots", "data-0+1"),
	}
	return Reference{Workload: "small", Trace: trace, Deletes: true}
}

func TestEveryPointHasItsPlans(t *testing.T) {
	counts := map[Class]int{}
	for _, p := range Enumerate([]Reference{small()}, 1, time.Second) {
		counts[p.Class]++
	}
	want := map[Class]int{
		Crash:      2 * len(crashes),
		APIErrors:  2 * len(errorDeeds),
		Reads:      7 + 2 + 5 + 2, // a list that fills a cache: 500, 410, three ages, empty, truncated; a live one; a get; discovery
		Watches:    len(eventDeeds),
		TimeTravel: 3 + 4,
		Managers:   3,
		Clock:      len(Lies),
		Pairs:      pairsPerWorkload,
		Idle:       1,
	}
	for _, class := range Classes {
		if counts[class] != want[class] {
			t.Errorf("%d plans of class %s, not %d", counts[class], class, want[class])
		}
	}
}

func TestIDsAreUniqueAndStable(t *testing.T) {
	all := Enumerate([]Reference{small()}, 7, time.Second)
	seen := map[string]bool{}
	for _, p := range all {
		if seen[p.ID] {
			t.Errorf("two plans are called %s", p.ID)
		}
		seen[p.ID] = true
		if !strings.HasPrefix(p.ID, string(p.Class)+":small:") {
			t.Errorf("%s does not begin with its class and workload", p.ID)
		}
	}
	again := Enumerate([]Reference{small()}, 7, time.Second)
	if !slices.EqualFunc(all, again, func(a, b Plan) bool { return a.ID == b.ID }) {
		t.Error("the same trace and seed made other plans")
	}
	for _, want := range []string{
		"crash:small:delete.volumesnapshots.data-0-old-0.1:before",
		"api-errors:small:create.volumesnapshots.data-0+1.1:timeout-after-commit",
		"reads:small:get.snapshotschedules.nightly.1:stale-half-way-back",
		"reads:small:list.volumesnapshots.all.1:truncated",
		"watches:small:deleted.volumesnapshots.data-0-old-0.1:dropped-410",
		"two-managers:small:one-sees-late",
		"time-travel:small:start:before-anything",
		"clock:small:-10y",
	} {
		if !seen[want] {
			t.Errorf("no plan is called %s", want)
		}
	}
}

func TestOnlyImpossibleAnswersLiftTheEnd(t *testing.T) {
	for _, p := range Enumerate([]Reference{small()}, 1, time.Second) {
		impossible := strings.Contains(p.ID, ":empty") || strings.Contains(p.ID, ":truncated") ||
			strings.Contains(p.ID, ":get.") && strings.Contains(p.ID, ":stale")
		if p.SafetyOnly() != impossible {
			t.Errorf("%s: only its safety is judged: %t", p.ID, p.SafetyOnly())
		}
	}
}

func TestAStartInThePastLiftsTheEndWhereItHidesAnUncutSnapshot(t *testing.T) {
	for _, uncut := range []bool{false, true} {
		r := small()
		r.Uncut = uncut
		starts := 0
		for _, p := range Enumerate([]Reference{r}, 1, time.Second) {
			if p.From == nil {
				continue
			}
			if starts++; p.SafetyOnly() != uncut {
				t.Errorf("%s: only its safety is judged: %t", p.ID, p.SafetyOnly())
			}
		}
		if starts == 0 {
			t.Error("no plan starts in the past")
		}
	}
}

func TestPairsAreTwoFaultsInOrder(t *testing.T) {
	for _, p := range Enumerate([]Reference{small()}, 3, time.Second) {
		if p.Class != Pairs {
			continue
		}
		if len(p.Faults) != 2 || p.Faults[0].At == p.Faults[1].At {
			t.Errorf("%s has not two faults at two points", p.ID)
		}
	}
}

func TestChoose(t *testing.T) {
	all := Enumerate([]Reference{small()}, 1, time.Second)
	none := func(Class) int { return 0 }
	if got := Choose(all, nil, nil, none); len(got) != len(all) {
		t.Errorf("%d of %d plans without a choice", len(got), len(all))
	}
	if got := Choose(all, []Class{Crash}, nil, none); len(got) != 4 {
		t.Errorf("%d crashes, not 4", len(got))
	}
	if got := Choose(all, nil, []string{all[0].ID}, none); len(got) != 1 || got[0].ID != all[0].ID {
		t.Errorf("chose %v by the ID %s", got, all[0].ID)
	}
	if got := Choose(all, nil, []string{"crash:small:create*"}, none); len(got) != 2 {
		t.Errorf("%d plans begin with the crashes at the create, not 2", len(got))
	}
	if got := Choose(all, nil, []string{"crash:small:create"}, none); len(got) != 0 {
		t.Errorf("an ID without * chose %d others", len(got))
	}
	errors := Choose(all, []Class{APIErrors}, nil, func(Class) int { return 4 })
	if len(errors) != 4 || errors[0].Faults[0].At == errors[3].Faults[0].At {
		t.Errorf("4 plans that are spread over the trace: %v", errors)
	}
}

func TestCommonKeepsWhatAllHave(t *testing.T) {
	a, b, c := point("create", "x", "1"), point("create", "x", "2"), point("create", "x", "3")
	got := Trace{a, b, c}.Common(Trace{c, a}, Trace{a, c, b})
	if !slices.Equal(got, Trace{a, c}) {
		t.Errorf("%v", got)
	}
}
