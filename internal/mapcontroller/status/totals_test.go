// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Contract: STAT-1.
func TestTotals(t *testing.T) {
	ready := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: status}} }
	}
	input := []client.Object{fixture.Input()}
	foreign := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("q", "q-uid")))
	pods := func(total int, more ...int) map[string]map[string]int {
		counts := map[string]int{"total": total}
		if len(more) > 0 {
			counts["ready"] = more[0]
		}
		return map[string]map[string]int{"pods": counts}
	}
	for name, test := range map[string]struct {
		// keys are the observations of the parent's keys.
		keys []plan.Observation
		want Totals
	}{
		"no key":          {want: Totals{Outputs: pods(0)}},
		"an input":        {keys: []plan.Observation{{Selected: input}}, want: Totals{Inputs: map[string]int{"secrets": 1}, Outputs: pods(0)}},
		"an unselected":   {keys: []plan.Observation{{Unselected: input}}, want: Totals{Outputs: pods(0)}},
		"foreign outputs": {keys: []plan.Observation{{Outputs: []client.Object{foreign}}}, want: Totals{Outputs: pods(0)}},
		"outputs of two inputs": {
			keys: []plan.Observation{
				{Selected: input, Outputs: []client.Object{fixture.Output("a", ready("True")), fixture.Output("b")}},
				{Selected: input, Outputs: []client.Object{fixture.Output("c", ready("True"))}},
			},
			want: Totals{Inputs: map[string]int{"secrets": 2}, Outputs: pods(3, 2)},
		},
		"a condition of which none is true": {
			keys: []plan.Observation{{Selected: input, Outputs: []client.Object{fixture.Output("a", ready("False"))}}},
			want: Totals{Inputs: map[string]int{"secrets": 1}, Outputs: pods(1, 0)},
		},
		"detached outputs": {
			keys: []plan.Observation{{Outputs: []client.Object{fixture.Output("a", ready("True")), fixture.Output("b")}}},
			want: Totals{Outputs: pods(2, 1), DetachedKeys: 1, DetachedOutputs: map[string]int{"pods": 2}},
		},
		"outputs of an input that is no longer selected": {
			keys: []plan.Observation{{Unselected: input, Outputs: []client.Object{fixture.Output("a")}}},
			want: Totals{Outputs: pods(1), DetachedKeys: 1, DetachedOutputs: map[string]int{"pods": 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules, program := fixture.Rules(t), fixture.Program()
			program.Map = func(plan.Observation) plan.Decision { return plan.Decision{} }
			var keys []*plan.KeyStatus
			for _, seen := range test.keys {
				p := rules.Build(plan.Parent{Object: fixture.Parent(), Program: &program}, fixture.Request, seen)
				keys = append(keys, &p.Key)
			}
			// Zeros are included.
			if test.want.Inputs == nil {
				test.want.Inputs = map[string]int{"secrets": 0}
			}
			if test.want.DetachedOutputs == nil {
				test.want.DetachedOutputs = map[string]int{"pods": 0}
			}
			if got := NewSummary(rules, keys...).Totals; !reflect.DeepEqual(*got, test.want) {
				t.Errorf("got %+v, want %+v", *got, test.want)
			}
		})
	}
}
