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

// small has one point of each kind, and two writes.
func small() Reference {
	trace := Trace{
		point("get", DiscoveryPath, "/api"),
		point("list", "volumesnapshots", "all"),
		point("live-list", "volumesnapshots", "all"),
		point("get", "snapshotschedules", "nightly"),
		point("delete", "volumesnapshots", "data-0-old-0"),
		point("deleted", "volumesnapshots", "data-0-old-0"),
		point("create", "volumesnapshots", "data-0+1"),
	}
	return Reference{Workload: "small", Trace: trace, Deletes: true}
}

// enumerate lists every plan of a workload.
func enumerate(r Reference, seed uint64) (all []Plan) {
	for _, class := range Classes {
		all = append(all, r.Plans(class, Options{Seed: seed, Idle: time.Second, Discovery: true})...)
	}
	return all
}

func TestEveryPointHasPlans(t *testing.T) {
	counts := map[Class]int{}
	for _, p := range enumerate(small(), 1) {
		counts[p.Class]++
	}
	want := map[Class]int{
		Crash:       2 * len(crashActions),
		APIErrors:   2 * len(errorActions),
		Reads:       7 + 2 + 5 + 2, // list: 500, 410, three ages, empty, truncated; live list; get; discovery
		Watches:     len(eventActions),
		TimeTravel:  3 + 4,
		TwoManagers: 3,
		Clock:       len(DateFaults),
		TwoFaults:   pairsPerWorkload,
		Idle:        1,
	}
	for _, class := range Classes {
		if counts[class] != want[class] {
			t.Errorf("class %s has %d plans, want %d", class, counts[class], want[class])
		}
	}
}

func TestIDsAreUniqueAndStable(t *testing.T) {
	all := enumerate(small(), 7)
	seen := map[string]bool{}
	for _, p := range all {
		if seen[p.ID] {
			t.Errorf("duplicate ID %s", p.ID)
		}
		seen[p.ID] = true
		if !strings.HasPrefix(p.ID, string(p.Class)+":small:") {
			t.Errorf("%s does not start with its class and workload", p.ID)
		}
	}
	again := enumerate(small(), 7)
	if !slices.EqualFunc(all, again, func(a, b Plan) bool { return a.ID == b.ID }) {
		t.Error("the same trace and seed give different plans")
	}
	for _, want := range []string{
		"crash:small:delete.volumesnapshots.data-0-old-0.1:before",
		"api-errors:small:create.volumesnapshots.data-0+1.1:timeout-after-commit",
		"reads:small:get.path./api.1:503",
		"reads:small:get.snapshotschedules.nightly.1:stale-half-way-back",
		"reads:small:list.volumesnapshots.all.1:truncated",
		"watches:small:deleted.volumesnapshots.data-0-old-0.1:dropped-410",
		"two-managers:small:one-sees-late",
		"time-travel:small:start:before-anything",
		"clock:small:-10y",
		"idle:small:1s",
	} {
		if !seen[want] {
			t.Errorf("no plan has the ID %s", want)
		}
	}
}

func TestSafetyOnlyForImpossibleAnswers(t *testing.T) {
	for _, p := range enumerate(small(), 1) {
		impossible := strings.Contains(p.ID, ":empty") || strings.Contains(p.ID, ":truncated") ||
			strings.Contains(p.ID, ":get.") && strings.Contains(p.ID, ":stale")
		if p.SafetyOnly() != impossible {
			t.Errorf("%s: SafetyOnly is %t", p.ID, p.SafetyOnly())
		}
	}
}

func TestSafetyOnlyForAStartThatHidesAnUncutSnapshot(t *testing.T) {
	for _, uncut := range []bool{false, true} {
		r := small()
		r.Uncut = uncut
		starts := 0
		for _, p := range enumerate(r, 1) {
			if p.StartAge == nil {
				continue
			}
			if starts++; p.SafetyOnly() != uncut {
				t.Errorf("%s: SafetyOnly is %t", p.ID, p.SafetyOnly())
			}
		}
		if starts == 0 {
			t.Error("no plan starts in the past")
		}
	}
}

func TestPairsHaveTwoFaultsAtTwoPoints(t *testing.T) {
	for _, p := range enumerate(small(), 3) {
		if p.Class == TwoFaults && (len(p.Faults) != 2 || p.Faults[0].At == p.Faults[1].At) {
			t.Errorf("%s has the faults %v", p.ID, p.Faults)
		}
	}
}

func TestCommonKeepsSharedPoints(t *testing.T) {
	a, b, c := point("create", "x", "1"), point("create", "x", "2"), point("create", "x", "3")
	got := Trace{a, b, c}.Common(Trace{c, a}, Trace{a, c, b})
	if !slices.Equal(got, Trace{a, c}) {
		t.Errorf("%v", got)
	}
}
