// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"
	"time"
)

func point(verb, resource, object string) Point {
	return Point{Verb: verb, Resource: resource, Object: object, Nth: 1}
}

func TestPlansOfEachClass(t *testing.T) {
	trace := []Point{ // two writes, and a point of each other kind
		point("get", DiscoveryPath, "/api"),
		point("list", "volumesnapshots", "all"),
		point("get", "snapshotschedules", "nightly"),
		point("delete", "volumesnapshots", "data-0-old-0"),
		point("create", "volumesnapshots", "data-0+1"),
	}
	for class, want := range map[Class][]string{
		Crash: {
			"delete.volumesnapshots.data-0-old-0.1:before", "delete.volumesnapshots.data-0-old-0.1:after",
			"create.volumesnapshots.data-0+1.1:before", "create.volumesnapshots.data-0+1.1:after",
		},
		TwoManagers: {"free"},
		Idle:        {"1s"},
	} {
		var got []string
		for _, p := range Of(class, trace, time.Second) {
			got = append(got, p.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", class, got, want)
		}
	}
}

func TestCommonKeepsSharedPoints(t *testing.T) {
	a, b, c := point("create", "x", "1"), point("create", "x", "2"), point("create", "x", "3")
	if got := Common([]Point{a, b, c}, []Point{c, a}); !slices.Equal(got, []Point{a, c}) {
		t.Errorf("%v", got)
	}
}
