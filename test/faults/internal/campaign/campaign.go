// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package campaign runs fault plans against the operator, several at once on one
// API server, judges each run with the oracles, and reports the results.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

// Options select the plans and say how to run them.
type Options struct {
	// Operator is the program under test.
	Operator string
	// Workloads, Classes and Plans select; empty means all. In the ID of a plan,
	// * stands for any text.
	Workloads []string
	Classes   []plan.Class
	Plans     []string
	// Limit is the maximum number of plans of each class, evenly spread; 0 means all.
	Limit int
	// Parallel is the number of concurrent runs.
	Parallel int
	// Seed draws the pairs of faults, and is the first seed of class simulation.
	Seed uint64
	// Idle is how long end states are observed in class idle.
	Idle time.Duration
	// StopAtFirst stops the campaign at the first violation.
	StopAtFirst bool
	// Verbose prints the history of runs that pass, too.
	Verbose bool
	// Log prints text for people; it may be nil.
	Log func(string)
	// Progress is called after each run; it may be nil.
	Progress func(what string, done, total, failed int)

	// limits replaces Limit.
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
	runs    atomic.Int64
}

// New returns a campaign on a cluster.
func New(cluster *environment.Cluster, o Options) *Campaign {
	o.renameClasses()
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int, int) {}
	}
	return &Campaign{Options: o, cluster: cluster}
}

func (c *Campaign) nextNamespace() string {
	return fmt.Sprintf("faults-%d-%d", os.Getpid(), c.runs.Add(1))
}

// reference is what the reference runs show of a workload.
type reference struct {
	workload workload.Workload
	plan.Reference
	end oracle.EndState
}

// NewReport returns an empty report.
func (c *Campaign) NewReport() *Report { return newReport(c.Options) }

// Run runs the selected plans of the classes that depend on traces, and adds them to a
// report. An error says why the campaign could not continue; violations are in the report.
func (c *Campaign) Run(ctx context.Context, report *Report) error {
	defer report.finish()
	if !c.selectsTraces() {
		return nil
	}
	references, err := c.references(ctx, report)
	if err != nil {
		return err
	}
	all, selected, err := c.plans(references)
	if err != nil {
		return err
	}
	report.enumerated(all)
	c.Log(fmt.Sprintf("Running %d of %d plans", len(selected), len(all)))
	return c.runAll(ctx, references, selected, report)
}

// List returns the plans that Run would run.
func (c *Campaign) List(ctx context.Context) ([]plan.Plan, error) {
	references, err := c.references(ctx, newReport(c.Options))
	if err != nil {
		return nil, err
	}
	_, selected, err := c.plans(references)
	return selected, err
}

func (c *Campaign) plans(references map[string]*reference) (all, selected []plan.Plan, err error) {
	var traces []plan.Reference
	for _, w := range workload.All() {
		if r := references[w.Name]; r != nil {
			traces = append(traces, r.Reference)
		}
	}
	all = plan.Enumerate(traces, c.Seed, c.Idle)
	selected = plan.Choose(all, c.Classes, c.Plans, c.limit)
	if len(selected) == 0 {
		return nil, nil, fmt.Errorf("none of %d plans has one of the classes %v and plans %q; --list prints all", len(all), c.Classes, c.Plans)
	}
	return all, selected, nil
}

// job is a plan to run, with the end state to reach; nil for reference runs.
type job struct {
	workload workload.Workload
	plan     plan.Plan
	want     *oracle.EndState
}

// runEach runs jobs concurrently and calls handle after each, never concurrently.
func (c *Campaign) runEach(ctx context.Context, jobs []job, handle func(i int, r result) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Parallel)
	var mu sync.Mutex
	for i, j := range jobs {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r := c.runPlan(ctx, j)
			if ctx.Err() != nil { // the run was interrupted, and cannot be judged
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			return handle(i, r)
		})
	}
	return g.Wait()
}

// references runs every selected workload twice without faults: only what both runs
// share can be expected of a run with faults.
func (c *Campaign) references(ctx context.Context, report *Report) (map[string]*reference, error) {
	workloads, err := workload.Find(c.selectedWorkloads()...)
	if err != nil {
		return nil, err
	}
	c.Log(fmt.Sprintf("Running %d workloads without faults, twice each", len(workloads)))
	var jobs []job
	for _, w := range workloads {
		for n := range 2 {
			p := plan.Plan{ID: fmt.Sprintf("%s:%s:%d", referenceClass, w.Name, n), Class: referenceClass, Workload: w.Name}
			jobs = append(jobs, job{workload: w, plan: p})
		}
	}
	runs := make([]result, len(jobs))
	err = c.runEach(ctx, jobs, func(i int, r result) error {
		runs[i] = r
		report.add(r)
		if r.failed() {
			c.Log(c.describe(r))
			return fmt.Errorf("workload %s fails without faults", jobs[i].workload.Name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	references := map[string]*reference{}
	for i, w := range workloads {
		first, second := runs[2*i], runs[2*i+1]
		references[w.Name] = &reference{workload: w, end: first.end, Reference: plan.Reference{
			Workload: w.Name, Trace: first.trace.Common(second.trace), Deletes: w.Deletes, Uncut: w.Uncut, Imports: w.Imports,
		}}
		for _, v := range oracle.L1(first.end, second.end) {
			second.Violations = append(second.Violations, v)
			report.add(second)
			return nil, fmt.Errorf("two runs of workload %s without faults end differently: %s", w.Name, v.Message)
		}
	}
	return references, nil
}

var errStopped = errors.New("stopped at the first violation")

func (c *Campaign) runAll(ctx context.Context, references map[string]*reference, plans []plan.Plan, report *Report) error {
	jobs := make([]job, len(plans))
	for i, p := range plans {
		ref := references[p.Workload]
		jobs[i] = job{workload: ref.workload, plan: p, want: &ref.end}
	}
	done := 0
	err := c.runEach(ctx, jobs, func(_ int, r result) error {
		done++
		report.add(r)
		if r.failed() || c.Verbose {
			c.Log(c.describe(r))
		}
		c.Progress("plans", done, len(plans), report.Failed)
		if r.failed() && c.StopAtFirst {
			return errStopped
		}
		return nil
	})
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}
