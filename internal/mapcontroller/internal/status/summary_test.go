// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/fixture"
	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/internal/plan"
)

// Contract: STAT-1.
func TestSummaryTotals(t *testing.T) {
	ready := func(status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(o *corev1.Pod) { o.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: status}} }
	}
	input := []client.Object{fixture.Input()}
	foreign := fixture.Output("foreign", fixture.Owners(fixture.OwnedBy("q", "q-uid")))
	const secrets, pods, readyPods, mapKeys, detached = "inputs.secrets.total", "outputs.pods.total", "outputs.pods.ready", "detached.mapKeys", "detached.pods"
	type totals = map[string]int
	for name, test := range map[string]struct {
		// keys are the observations of the parent's keys.
		keys []plan.Observation
		want totals
	}{
		"no key":          {want: totals{}},
		"an input":        {keys: []plan.Observation{{Selected: input}}, want: totals{secrets: 1}},
		"an unselected":   {keys: []plan.Observation{{Unselected: input}}, want: totals{}},
		"foreign outputs": {keys: []plan.Observation{{Outputs: []client.Object{foreign}}}, want: totals{}},
		"outputs of two inputs": {
			keys: []plan.Observation{
				{Selected: input, Outputs: []client.Object{fixture.Output("a", ready("True")), fixture.Output("b")}},
				{Selected: input, Outputs: []client.Object{fixture.Output("c", ready("True"))}},
			},
			want: totals{secrets: 2, pods: 3, readyPods: 2},
		},
		"a condition of which none is true": {
			keys: []plan.Observation{{Selected: input, Outputs: []client.Object{fixture.Output("a", ready("False"))}}},
			want: totals{secrets: 1, pods: 1, readyPods: 0},
		},
		"detached outputs": {
			keys: []plan.Observation{{Outputs: []client.Object{fixture.Output("a", ready("True")), fixture.Output("b")}}},
			want: totals{pods: 2, readyPods: 1, mapKeys: 1, detached: 2},
		},
		"outputs of an input that is no longer selected": {
			keys: []plan.Observation{{Unselected: input, Outputs: []client.Object{fixture.Output("a")}}},
			want: totals{pods: 1, mapKeys: 1, detached: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			kinds, program := fixture.Kinds(t), fixture.Program()
			program.Map = func(plan.Observation) plan.Decision { return plan.Decision{} }
			var keys []*plan.KeyStatus
			for _, seen := range test.keys {
				p := kinds.Build(plan.Parent{Object: fixture.Parent(), Program: &program}, fixture.Request, seen)
				p.Key.Counts = kinds.Counts(&p, nil)
				keys = append(keys, &p.Key)
			}
			// Zeros are included.
			want := totals{secrets: 0, pods: 0}
			maps.Copy(want, test.want)
			if got := NewSummary(kinds, keys...).Totals; !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
