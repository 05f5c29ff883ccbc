// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package mapcontroller

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
	return func(o *corev1.Pod) {
		o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
	}
}

// Contract: STAT-1.
func TestTotals(t *testing.T) {
	engine := testSpec().withDefaults()
	ready := testOutput("r", condition("Ready", "True"))
	for name, test := range map[string]struct {
		input    client.Object
		selected bool
		owned    []client.Object
		want     Totals
	}{
		"nothing":          {},
		"an input":         {input: testInput(), selected: true, want: Totals{Inputs: map[string]int{"secrets": 1}}},
		"one not selected": {input: testInput()},
		"outputs of an input": {
			input: testInput(), selected: true, owned: []client.Object{ready, testOutput("a")},
			want: Totals{
				Inputs:  map[string]int{"secrets": 1},
				Outputs: map[string]map[string]int{"pods": {"total": 2, "ready": 1}},
			},
		},
		"detached outputs": {
			owned: []client.Object{ready, ready, testOutput("a")},
			want: Totals{
				Outputs:         map[string]map[string]int{"pods": {"total": 3, "ready": 2}},
				DetachedKeys:    1,
				DetachedOutputs: map[string]int{"pods": 3},
			},
		},
		"outputs of an input that is no longer selected": {
			input: testInput(), owned: []client.Object{testOutput("a")},
			want: Totals{
				Outputs:         map[string]map[string]int{"pods": {"total": 1}},
				DetachedKeys:    1,
				DetachedOutputs: map[string]int{"pods": 1},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := map[counter]int{}
			for _, c := range engine.count(test.input, test.selected, test.owned) {
				counts[c.counter] += c.n
			}
			want := newTotals(nil)
			want.DetachedKeys = test.want.DetachedKeys
			if test.want.Inputs != nil {
				want.Inputs = test.want.Inputs
			}
			if test.want.Outputs != nil {
				want.Outputs = test.want.Outputs
			}
			if test.want.DetachedOutputs != nil {
				want.DetachedOutputs = test.want.DetachedOutputs
			}
			if got := newTotals(counts); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestTrueConditions(t *testing.T) {
	for name, test := range map[string]struct {
		object client.Object
		want   []string
	}{
		"a kind without conditions": {object: testInput()},
		"none yet":                  {object: testOutput("a")},
		"those that are true": {
			object: testOutput("a", condition("Ready", "True"), condition("PodScheduled", "True"),
				condition("Initialized", "False"), condition("Other", "Unknown")),
			want: []string{"ready", "podScheduled"},
		},
		"one without a name": {object: testOutput("a", condition("", "True"))},
	} {
		t.Run(name, func(t *testing.T) {
			if got := TrueConditions(test.object); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
