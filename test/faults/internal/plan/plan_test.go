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

func TestEveryPointHasPlans(t *testing.T) {
	small := Reference{Workload: "small", Trace: Trace{ // two writes, and a point of each other kind
		point("get", DiscoveryPath, "/api"),
		point("list", "volumesnapshots", "all"),
		point("live-list", "volumesnapshots", "all"),
		point("get", "snapshotschedules", "nightly"),
		point("delete", "volumesnapshots", "data-0-old-0"),
		point("create", "volumesnapshots", "data-0+1"),
	}}
	counts, seen := map[Class]int{}, map[string]bool{}
	for _, class := range Classes {
		for _, p := range small.Plans(class, time.Second) {
			counts[class]++
			if p.Class != class || seen[p.ID] || !strings.HasPrefix(p.ID, string(class)+":small:") {
				t.Errorf("%s is a duplicate, or does not start with its class and workload", p.ID)
			}
			seen[p.ID] = true
		}
	}
	want := map[Class]int{
		Crash:       4,
		TwoManagers: 1,
		Idle:        1,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("plans: %v, want %v", counts, want)
	}
	for _, id := range []string{
		"crash:small:delete.volumesnapshots.data-0-old-0.1:before",
		"two-managers:small:free",
		"idle:small:1s",
	} {
		if !seen[id] {
			t.Errorf("no plan has the ID %s", id)
		}
	}
}

func TestCommonKeepsSharedPoints(t *testing.T) {
	a, b, c := point("create", "x", "1"), point("create", "x", "2"), point("create", "x", "3")
	if got := (Trace{a, b, c}).Common(Trace{c, a}); !slices.Equal(got, Trace{a, c}) {
		t.Errorf("%v", got)
	}
}
