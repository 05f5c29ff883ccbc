// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"
	"time"
)

func TestChoose(t *testing.T) {
	all := Enumerate([]Reference{small()}, 1, time.Second)
	noLimit := func(Class) int { return 0 }
	for _, c := range []struct {
		name    string
		classes []Class
		ids     []string
		want    int
	}{
		{"everything by default", nil, nil, len(all)},
		{"a class", []Class{Crash}, nil, 4},
		{"an ID", nil, []string{all[0].ID}, 1},
		{"a prefix", nil, []string{"crash:small:create*"}, 2},
		{"a prefix without * matches nothing", nil, []string{"crash:small:create"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Choose(all, c.classes, c.ids, noLimit); len(got) != c.want {
				t.Errorf("%d plans, want %d", len(got), c.want)
			}
		})
	}
	few := Choose(all, []Class{APIErrors}, nil, func(Class) int { return 4 })
	if len(few) != 4 || few[0].Faults[0].At == few[3].Faults[0].At {
		t.Errorf("4 plans are not spread over the trace: %v", few)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, id string
		want        bool
	}{
		{"specs:good", "specs:good", true},
		{"specs:go", "specs:good", false},
		{"specs:*", "specs:good", true},
		{"*timeZone=Europe/Atlantis*", "specs:timeZone=Europe/Atlantis+suspend=true", true},
		{"*:a*b", "x:acb", true},
		{"*:a*b", "x:acbd", false},
		{"a*a", "a", false},
		{"specs:schedule=*_*", "specs:schedule=@hourly", false},
	} {
		if got := Matches([]string{c.pattern}, c.id); got != c.want {
			t.Errorf("%q matches %q: %t", c.pattern, c.id, got)
		}
	}
}

func TestSpread(t *testing.T) {
	if got := Spread([]int{0, 1, 2, 3, 4, 5}, 3); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("%v", got)
	}
	if got := Spread([]int{0, 1}, 0); len(got) != 2 {
		t.Errorf("limit 0 keeps %v", got)
	}
}
