// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"
)

// Totals are the proposal's aggregated status: for each input kind how many are
// selected, for each output kind how many are owned and of how many a condition
// is true. Kinds are named by their plural. Kinds without objects count zero.
type Totals struct {
	Inputs  map[string]int
	Outputs map[string]map[string]int
	// DetachedKeys counts the map keys with outputs but without a selected input,
	// DetachedOutputs those outputs.
	DetachedKeys    int
	DetachedOutputs map[string]int
}

func newTotals(rules *plan.Rules, keys []*plan.KeyStatus) *Totals {
	t := &Totals{Inputs: map[string]int{}, Outputs: map[string]map[string]int{}, DetachedOutputs: map[string]int{}}
	for _, in := range rules.Inputs {
		t.Inputs[in.Resource] = 0
	}
	for _, out := range rules.Outputs {
		t.Outputs[out.Resource] = map[string]int{plan.Total: 0}
		t.DetachedOutputs[out.Resource] = 0
	}
	for _, key := range keys {
		for _, count := range key.Counts {
			switch c := count.Counter.Value(); c.Section {
			case plan.Inputs:
				t.Inputs[c.Resource] += count.N
			case plan.Outputs:
				t.Outputs[c.Resource][c.Name] += count.N
			case plan.DetachedKeys:
				t.DetachedKeys += count.N
			case plan.DetachedOutputs:
				t.DetachedOutputs[c.Resource] += count.N
			}
		}
	}
	return t
}

// SetCounts writes observedGeneration and the counts into a parent's status, as
// the proposal lays them out: status.inputs.<plural>.total,
// status.outputs.<plural>.<total or condition>, status.detached. Fields that the
// parent's type does not have are left out.
func SetCounts(parent client.Object, s Summary) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(parent)
	if err != nil {
		return err
	}
	fields := map[string]any{}
	if s.Settled {
		fields["observedGeneration"] = parent.GetGeneration()
	}
	if s.Totals != nil {
		inputs, outputs, detached := map[string]any{}, map[string]any{}, map[string]any{"mapKeys": int64(s.Totals.DetachedKeys)}
		for resource, n := range s.Totals.Inputs {
			inputs[resource] = map[string]any{plan.Total: int64(n)}
		}
		for resource, counts := range s.Totals.Outputs {
			of := map[string]any{}
			for name, n := range counts {
				of[name] = int64(n)
			}
			outputs[resource] = of
			detached[resource] = int64(s.Totals.DetachedOutputs[resource])
		}
		fields["inputs"], fields["outputs"], fields["detached"] = inputs, outputs, detached
	}
	for name, value := range fields {
		if err := unstructured.SetNestedField(content, value, "status", name); err != nil {
			return fmt.Errorf("set status.%s: %w", name, err)
		}
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, parent)
}
