// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package campaign runs plans against the operator's program, several at once on
// one API server, judges each, and sums up.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

// Options say what is run.
type Options struct {
	// Operator is the program under test.
	Operator string
	// Workloads, Classes and Plans choose; empty: all. A plan that ends in * stands
	// for all that begin so.
	Workloads []string
	Classes   []plan.Class
	Plans     []string
	// Limit is how many plans of each class are run at most, spread evenly over
	// them; 0: all.
	Limit int
	// Parallel is how many runs there are at once.
	Parallel int
	// Seed draws the pairs.
	Seed uint64
	// Idle is how long an end is watched in class idle.
	Idle time.Duration
	// StopAtFirst ends the campaign with the first violation.
	StopAtFirst bool
	// Verbose tells what happened in runs that pass, too.
	Verbose bool
	// Told is called with what there is to tell, in full lines.
	Told func(string)
	// Progress is called after each run, with what is being run; it may be nil.
	Progress func(what string, done, of, failed int)

	// limits are instead of Limit.
	limits map[plan.Class]int
}

func (o Options) limit(class plan.Class) int {
	if o.limits != nil {
		return o.limits[class]
	}
	return o.Limit
}

// Campaign runs plans on a cluster.
type Campaign struct {
	Options
	cluster *environment.Cluster
	run     string
	number  atomic.Int64
}

// New is a campaign on a cluster.
func New(cluster *environment.Cluster, o Options) *Campaign {
	return &Campaign{Options: o, cluster: cluster, run: fmt.Sprintf("%d", os.Getpid())}
}

func (c *Campaign) namespace() string { return fmt.Sprintf("faults-%s-%d", c.run, c.number.Add(1)) }

// reference is what the runs without faults have shown of a workload.
type reference struct {
	workload workload.Workload
	plan.Reference
	end oracle.EndState
}

// Run runs what is chosen. An error says that the campaign itself could not go on;
// violations are in the report.
func (c *Campaign) Run(ctx context.Context) (*Report, error) {
	if !c.TracesChosen() {
		report := newReport(c.Options)
		report.finish()
		return report, nil
	}
	workloads, err := workload.Find(c.chosenWorkloads()...)
	if err != nil {
		return nil, err
	}
	report := newReport(c.Options)
	defer report.finish()
	references, err := c.references(ctx, workloads, report)
	if err != nil {
		return report, err
	}
	plans, err := c.choose(references)
	if err != nil {
		return report, err
	}
	report.enumerated(plans.all)
	c.Told(fmt.Sprintf("%d plans of %d", len(plans.chosen), len(plans.all)))
	return report, c.runAll(ctx, references, plans.chosen, report)
}

// chosenWorkloads are those that chosen plans need.
func (c *Campaign) chosenWorkloads() []string {
	if len(c.Plans) == 0 {
		return c.Workloads
	}
	names := slices.Clone(c.Workloads)
	for _, id := range c.Plans {
		parts := strings.SplitN(id, ":", 3)
		if len(parts) > 1 && !strings.Contains(parts[1], "*") && !slices.Contains(names, parts[1]) {
			names = append(names, parts[1])
		}
		if len(parts) < 2 || strings.Contains(parts[1], "*") {
			return c.Workloads
		}
	}
	return names
}

// references runs every workload without faults: twice, to tell what is the same in
// every run.
func (c *Campaign) references(ctx context.Context, workloads []workload.Workload, report *Report) (map[string]*reference, error) {
	c.Told(fmt.Sprintf("%d workloads without faults, twice each", len(workloads)))
	found := make([]*reference, len(workloads))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Parallel)
	var mu sync.Mutex
	runs := make([][2]result, len(workloads))
	for i, w := range workloads {
		for n := range 2 {
			g.Go(func() error {
				p := plan.Plan{ID: fmt.Sprintf("reference:%s:%d", w.Name, n), Class: "reference", Workload: w.Name}
				r := c.try(ctx, w, p, nil)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				mu.Lock()
				defer mu.Unlock()
				runs[i][n] = r
				report.add(r)
				if r.failed() {
					c.Told(c.describe(r))
					return fmt.Errorf("workload %s fails without any fault", w.Name)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	byName := map[string]*reference{}
	for i, w := range workloads {
		found[i] = c.referenceOf(w, runs[i])
		byName[w.Name] = found[i]
		for _, v := range oracle.L1(found[i].end, runs[i][1].end) {
			again := runs[i][1]
			again.Violations = append(again.Violations, v)
			report.add(again)
			return nil, fmt.Errorf("workload %s does not end in the same way without faults: %s", w.Name, v.Message)
		}
	}
	return byName, nil
}

func (c *Campaign) referenceOf(w workload.Workload, runs [2]result) *reference {
	return &reference{
		workload: w,
		Reference: plan.Reference{
			Workload: w.Name,
			Trace:    runs[0].trace.Common(runs[1].trace),
			Deletes:  w.Deletes,
			Uncut:    w.Uncut,
		},
		end: runs[0].end,
	}
}

// choice is all plans and those to run.
type choice struct{ all, chosen []plan.Plan }

func (c *Campaign) choose(references map[string]*reference) (choice, error) {
	var of []plan.Reference
	for _, w := range workload.All() {
		if r := references[w.Name]; r != nil {
			of = append(of, r.Reference)
		}
	}
	all := plan.Enumerate(of, c.Seed, c.Idle)
	chosen := plan.Choose(all, c.Classes, c.Plans, c.limit)
	if len(chosen) == 0 {
		return choice{}, fmt.Errorf("none of %d plans is chosen by classes %v and plans %q: '--list' prints all", len(all), c.Classes, c.Plans)
	}
	return choice{all: all, chosen: chosen}, nil
}

// List returns the plans that would be run.
func (c *Campaign) List(ctx context.Context) ([]plan.Plan, error) {
	workloads, err := workload.Find(c.chosenWorkloads()...)
	if err != nil {
		return nil, err
	}
	references, err := c.references(ctx, workloads, newReport(c.Options))
	if err != nil {
		return nil, err
	}
	plans, err := c.choose(references)
	return plans.chosen, err
}

var errStopped = errors.New("stopped at the first violation")

func (c *Campaign) runAll(ctx context.Context, references map[string]*reference, plans []plan.Plan, report *Report) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Parallel)
	var mu sync.Mutex
	for _, p := range plans {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			ref := references[p.Workload]
			r := c.try(ctx, ref.workload, p, &ref.end)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			report.add(r)
			if r.failed() || c.Verbose {
				c.Told(c.describe(r))
			}
			if c.Progress != nil {
				c.Progress("plans", report.Done, len(plans), report.Failed)
			}
			if r.failed() && c.StopAtFirst {
				return errStopped
			}
			return nil
		})
	}
	if err := g.Wait(); !errors.Is(err, errStopped) {
		return err
	}
	return nil
}
