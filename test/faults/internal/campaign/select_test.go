// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"slices"
	"testing"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

func TestSelection(t *testing.T) {
	for name, c := range map[string]struct {
		options   Options
		traces    bool
		simulated []string
		workloads []string
	}{
		"everything by default":   {Options{}, true, nil, nil},
		"a static class":          {Options{Classes: []plan.Class{Clocks}}, false, nil, nil},
		"a plan":                  {Options{Plans: []string{"crash:first:x"}}, true, nil, []string{"first"}},
		"a plan of any workload":  {Options{Plans: []string{"crash:*"}}, true, nil, nil},
		"two kinds of plans":      {Options{Plans: []string{"crash:first:x", "specs:*", "simulation:7"}}, true, []string{"simulation:7"}, []string{"first"}},
		"a simulation":            {Options{Plans: []string{"simulation:7"}}, false, []string{"simulation:7"}, nil},
		"a simulation's old name": {Options{Plans: []string{"lives:7"}}, false, []string{"simulation:7"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := New(nil, c.options)
			if got := o.selectsTraces(); got != c.traces {
				t.Errorf("selectsTraces is %t", got)
			}
			if got, _ := o.selectedOf(Simulation); !slices.Equal(got, c.simulated) {
				t.Errorf("selects simulations %q", got)
			}
			if got := o.selectedWorkloads(); !slices.Equal(got, c.workloads) {
				t.Errorf("selects workloads %q", got)
			}
		})
	}
}
