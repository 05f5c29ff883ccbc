// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
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
	return Reference{Workload: "small", Trace: trace}
}

// enumerate lists every plan of a workload.
func enumerate(r Reference) (all []Plan) {
	for _, class := range Classes {
		all = append(all, r.Plans(class, Options{Idle: time.Second, Discovery: true})...)
	}
	return all
}

func TestEveryPointHasPlans(t *testing.T) {
	counts := map[Class]int{}
	all, again, seen := enumerate(small()), enumerate(small()), map[string]bool{}
	for i, p := range all {
		counts[p.Class]++
		if again[i].ID != p.ID || seen[p.ID] || !strings.HasPrefix(p.ID, string(p.Class)+":small:") {
			t.Errorf("%s is a duplicate, differs from run to run, or does not start with its class and workload", p.ID)
		}
		seen[p.ID] = true
	}
	want := map[Class]int{
		Crash:       2 * len(crashActions),
		APIErrors:   2 * len(errorActions),
		Reads:       5 + 2 + 2 + 2, // list: 500, 410, three ages; live list; get; discovery
		Watches:     len(eventActions),
		TimeTravel:  3 + 4,
		TwoManagers: 3,
		Idle:        1,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("plans: %v, want %v", counts, want)
	}
	for _, id := range []string{
		"crash:small:delete.volumesnapshots.data-0-old-0.1:before",
		"api-errors:small:create.volumesnapshots.data-0+1.1:timeout-after-commit",
		"reads:small:get.path./api.1:503",
		"reads:small:get.snapshotschedules.nightly.1:410",
		"reads:small:list.volumesnapshots.all.1:stale-half-way-back",
		"watches:small:deleted.volumesnapshots.data-0-old-0.1:dropped-410",
		"two-managers:small:one-sees-late",
		"time-travel:small:start:before-anything",
		"idle:small:1s",
	} {
		if !seen[id] {
			t.Errorf("no plan has the ID %s", id)
		}
	}
}

func TestSafetyOnlyForAStartThatHidesAnUncutSnapshot(t *testing.T) {
	for _, uncut := range []bool{false, true} {
		r := small()
		r.Uncut = uncut
		starts := 0
		for _, p := range enumerate(r) {
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

func TestCommonKeepsSharedPoints(t *testing.T) {
	a, b, c := point("create", "x", "1"), point("create", "x", "2"), point("create", "x", "3")
	got := Trace{a, b, c}.Common(Trace{c, a}, Trace{a, c, b})
	if !slices.Equal(got, Trace{a, c}) {
		t.Errorf("%v", got)
	}
}
