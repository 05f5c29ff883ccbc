// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/specs"
)

// Simulations is the number of simulations in a whole campaign.
const Simulations = 200

// concurrentSpecs is the number of specs that one operator handles at once.
const concurrentSpecs = 24

// RunStatic runs the selected plans of the classes that do not depend on traces, and
// adds them to a report. n is the number of simulations. It goes before Run: the operator
// of the spec states serves all namespaces, and plans leave thousands of them.
func (c *Campaign) RunStatic(ctx context.Context, report *Report, n int) error {
	defer report.finish()
	if ids, ok := c.selectedOf(SpecStates); ok {
		_, err := specs.Run(ctx, c.cluster, specs.Options{
			Operator: c.Operator, Plans: ids, Limit: c.limit(SpecStates), Parallel: concurrentSpecs,
			Progress: c.addSpecs(report, SpecStates),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addSpecs returns a function that adds results of a class to a report.
func (c *Campaign) addSpecs(report *Report, class plan.Class) func(r specs.Result, done, total int) {
	return func(r specs.Result, done, total int) {
		res := result{Plan: plan.Plan{ID: r.ID, Class: class}, Took: r.Took}
		if r.Err != nil {
			res.Violations = []oracle.Violation{{Oracle: string(class), Message: r.Err.Error()}}
		}
		c.addStatic(report, res)
		c.Progress(string(class), done, total, report.Failed)
	}
}

func (c *Campaign) addStatic(report *Report, r result) {
	report.row(r.Plan.Class).Enumerated++
	report.add(r)
	if r.failed() {
		c.Log(c.describe(r))
	}
}
