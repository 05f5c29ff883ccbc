// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/lookup"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Contract: GRP-16.
func TestSteadyInputs(t *testing.T) {
	type pass struct {
		at          int    // seconds
		inputs      string // a letter each
		same, began int    // seconds; -1: not known
	}
	for name, passes := range map[string][]pass{
		"the same":                          {{5, "ab", 5, 5}, {7, "ab", 5, 5}, {900, "ab", 5, 5}},
		"in another order":                  {{5, "ab", 5, 5}, {7, "ba", 5, 5}},
		"one after the other":               {{5, "a", 5, 5}, {7, "ab", 7, 5}, {16, "abc", 16, 5}, {20, "abc", 16, 5}},
		"another change, later":             {{5, "a", 5, 5}, {7, "ab", 7, 5}, {17, "abc", 17, 17}},
		"one in place of another":           {{5, "a", 5, 5}, {7, "b", 7, 5}},
		"to and fro":                        {{5, "a", 5, 5}, {6, "ab", 6, 5}, {7, "a", 7, 5}},
		"none, and then again":              {{5, "a", 5, 5}, {6, "", -1, -1}, {7, "a", 7, 7}},
		"the clock is set back":             {{50, "a", 50, 50}, {6, "a", 6, 6}, {7, "a", 6, 6}},
		"the clock is set back at a change": {{50, "a", 50, 50}, {6, "ab", 6, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			steady := &lookup.Steady{After: 10 * time.Second}
			at := func(seconds int) time.Time {
				if seconds < 0 {
					return time.Time{}
				}
				return time.Unix(int64(seconds), 0)
			}
			for i, p := range passes {
				var inputs []client.Object
				for _, uid := range p.inputs {
					input := &corev1.PersistentVolumeClaim{}
					input.UID = types.UID(uid)
					inputs = append(inputs, input)
				}
				same, began := steady.Observe(plan.Request{MapKey: "g"}, inputs, at(p.at))
				if !same.Equal(at(p.same)) || !began.Equal(at(p.began)) {
					t.Errorf("pass %d: the same since %v, changing since %v; want %+v", i, same.Unix(), began.Unix(), p)
				}
			}
		})
	}
}

func TestSteadyForgets(t *testing.T) {
	steady, input := &lookup.Steady{After: time.Minute}, &corev1.PersistentVolumeClaim{}
	observe := func(parent, key string, second int64) int64 {
		same, _ := steady.Observe(plan.Request{Parent: types.NamespacedName{Name: parent}, MapKey: key}, []client.Object{input}, time.Unix(second, 0))
		return same.Unix()
	}
	for i := range 3 {
		observe("p", fmt.Sprint(i), 1)
		observe("q", fmt.Sprint(i), 1)
	}
	steady.Observe(plan.Request{Parent: types.NamespacedName{Name: "p"}, MapKey: "1"}, nil, time.Unix(1, 0)) // no input is left
	steady.ForgetParent(types.NamespacedName{Name: "q"})
	for _, tc := range []struct {
		parent, key string
		want        int64
	}{{"p", "0", 1}, {"p", "1", 2}, {"p", "2", 1}, {"q", "0", 2}} {
		if got := observe(tc.parent, tc.key, 2); got != tc.want {
			t.Errorf("%s/%s: the same since %d, want %d", tc.parent, tc.key, got, tc.want)
		}
	}
}
