// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import "mapcontroller.dev/snapshotschedule/internal/mapcontroller/plan"

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
