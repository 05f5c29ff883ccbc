// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim"
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
	if ids, ok := c.selectedOf(Clocks); ok {
		specs.RunClocks(ids, c.addSpecs(report, Clocks))
	}
	if ids, ok := c.selectedOf(Simulation); ok {
		return c.simulate(ctx, ids, n, report)
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

// simulate runs n simulations from the campaign's seed on, or the one with a given
// ID: simulation:<seed>.
func (c *Campaign) simulate(ctx context.Context, ids []string, n int, report *Report) error {
	first := c.Seed
	if len(ids) > 0 {
		seed, err := strconv.ParseUint(strings.TrimPrefix(ids[0], string(Simulation)+":"), 10, 64)
		if err != nil || len(ids) > 1 {
			return fmt.Errorf("plans %q: select one simulation as %s:<seed>", ids, Simulation)
		}
		first, n = seed, 1
	}
	if n < 1 {
		return nil
	}
	began := time.Now()
	failed := map[uint64][]oracle.Violation{}
	for _, r := range sim.RunMany(ctx, first, n, func(p sim.Progress) {
		for _, v := range p.Last.ByCache {
			report.ByCache[v.Oracle]++
		}
		c.Progress(string(Simulation), p.Done, p.Total, p.Failed)
	}) {
		failed[r.Seed] = r.Violations
	}
	took := time.Since(began) / time.Duration(n)
	for seed := first; seed < first+uint64(n) && ctx.Err() == nil; seed++ {
		p := plan.Plan{ID: fmt.Sprintf("%s:%d", Simulation, seed), Class: Simulation}
		c.addStatic(report, result{Plan: p, Took: took, Violations: failed[seed]})
	}
	return ctx.Err()
}
