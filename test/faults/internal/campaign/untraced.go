// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/sim"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/specs"
)

// The classes whose plans come from no trace.
const (
	// SpecStates puts every field of a spec, and every pair, at its edges.
	SpecStates plan.Class = "specs"
	// Clocks jumps and changes the injected clock, in process.
	Clocks plan.Class = "clocks"
	// Simulation lives ninety days of a seed under a fake clock, in process.
	Simulation plan.Class = "lives"
)

// Untraced are those classes.
var Untraced = []plan.Class{SpecStates, Clocks, Simulation}

// Lives is how many lives a whole campaign has.
const Lives = 200

// specsAtOnce is how many specs one operator is given at once.
const specsAtOnce = 24

// RunUntraced runs what is chosen of these classes, and adds it to a report; n
// lives are lived from the seed on.
func (c *Campaign) RunUntraced(ctx context.Context, report *Report, n int) error {
	if ids, ok := c.chosenOf(SpecStates); ok {
		results, err := specs.Run(ctx, c.cluster, specs.Options{
			Operator: c.Operator, Plans: ids, Limit: c.limit(SpecStates), Parallel: specsAtOnce,
			Progress: func(r specs.Result, done, total int) { c.told(SpecStates, r, done, total) },
		})
		if err != nil {
			return err
		}
		report.addResults(SpecStates, results)
	}
	if ids, ok := c.chosenOf(Clocks); ok {
		report.addResults(Clocks, specs.RunClocks(ids, func(r specs.Result, done, total int) { c.told(Clocks, r, done, total) }))
	}
	if ids, ok := c.chosenOf(Simulation); ok {
		results, err := c.lives(ctx, ids, n)
		if err != nil {
			return err
		}
		report.addResults(Simulation, results)
	}
	report.finish()
	return nil
}

// TracesChosen tells whether any plan from a trace is chosen.
func (c *Campaign) TracesChosen() bool {
	if len(c.Classes) == 0 && len(c.Plans) == 0 {
		return true
	}
	traced := func(class plan.Class) bool { return !slices.Contains(Untraced, class) }
	return slices.ContainsFunc(c.Classes, traced) ||
		slices.ContainsFunc(c.Plans, func(id string) bool { return traced(classOf(id)) })
}

func classOf(id string) plan.Class {
	class, _, _ := strings.Cut(id, ":")
	return plan.Class(strings.TrimSuffix(class, "*"))
}

// chosenOf returns the chosen plans of a class, none meaning all, and whether the
// class is chosen at all.
func (c *Campaign) chosenOf(class plan.Class) (ids []string, ok bool) {
	for _, id := range c.Plans {
		if classOf(id) == class {
			ids = append(ids, id)
		}
	}
	return ids, len(ids) > 0 || slices.Contains(c.Classes, class) || len(c.Classes)+len(c.Plans) == 0
}

func (c *Campaign) told(class plan.Class, r specs.Result, done, total int) {
	if !r.Passed {
		c.Told(fmt.Sprintf("FAILED %s (%s)\n  %s\n  again: make test-faults PLAN='%s'", r.ID, r.Took.Round(time.Millisecond), r.Why, r.ID))
	}
	if c.Progress != nil {
		c.Progress(string(class), done, total, 0)
	}
}

// lives are plans, too: "lives:17" is that of seed 17.
func (c *Campaign) lives(ctx context.Context, ids []string, n int) ([]specs.Result, error) {
	first := c.Seed
	if len(ids) > 0 {
		seed, err := strconv.ParseUint(strings.TrimPrefix(ids[0], string(Simulation)+":"), 10, 64)
		if err != nil || len(ids) > 1 {
			return nil, fmt.Errorf("plans %q: give one life as %s:<seed>", ids, Simulation)
		}
		first, n = seed, 1
	}
	if n < 1 {
		return nil, nil
	}
	began := time.Now()
	failed := sim.RunMany(ctx, first, n, func(p sim.Progress) {
		if c.Progress != nil {
			c.Progress(string(Simulation), p.Done, p.Total, p.Failed)
		}
	})
	took := time.Since(began) / time.Duration(n)
	results := make([]specs.Result, n)
	for i := range results {
		results[i] = specs.Result{ID: fmt.Sprintf("%s:%d", Simulation, first+uint64(i)), Passed: true, Took: took}
	}
	for _, f := range failed {
		r := &results[f.Seed-first]
		r.Passed = false
		for _, v := range f.Violations {
			r.Why += v.Oracle + ": " + v.Message + "\n"
		}
		c.told(Simulation, *r, n, n)
	}
	return results, ctx.Err()
}

func (r *Report) addResults(class plan.Class, results []specs.Result) {
	row := &Row{Class: string(class), Enumerated: len(results)}
	for _, one := range results {
		row.Plans++
		row.Took += one.Took
		if one.Passed {
			row.Passed++
			continue
		}
		row.Failed++
		r.Failures = append(r.Failures, Failure{
			Plan: one.ID, Seed: r.Seed, Violations: []string{one.Why}, Again: fmt.Sprintf("make test-faults PLAN='%s'", one.ID),
		})
	}
	r.Rows = append(r.Rows, row)
	r.Done += row.Plans
	r.Failed += row.Failed
}
