// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/proxy"
)

const (
	// quietTime is how long the operator must be quiet at the end of a run.
	quietTime = 400 * time.Millisecond
	// quietReference is the same for reference runs, whose end state is not known, and for
	// those that are observed afterwards: longer than every debounce and first retry.
	quietReference = 2 * time.Second
	// quietDifferent is how long the operator must be quiet before the run of a plan
	// whose end state may differ is over.
	quietDifferent = 5 * time.Second
	// runTimeout limits a run, slowTimeout one that waits for the namespace controller.
	runTimeout  = 30 * time.Second
	slowTimeout = 90 * time.Second
)

// planRun is one run of one plan, from an empty namespace to its end.
type planRun struct {
	*Campaign
	job

	run   *environment.Run
	proxy *proxy.Proxy
	dir   string
	began time.Time
	// step is the index of the next step of the workload.
	step int
	// flags are the operator's, beside the usual ones.
	flags     []string
	dateWrong bool
	crashes   chan plan.Fault

	mu        sync.Mutex
	processes []*process
}

// result is the result of a run.
type result struct {
	Plan plan.Plan
	Took time.Duration
	// Missed are the faults whose points the run did not reach.
	Missed     []plan.Fault
	Violations []oracle.Violation
	// Err says why the run could not be judged: the campaign itself failed.
	Err error

	trace     plan.Trace
	end       oracle.EndState
	history   *history.History
	nicknames map[string]string
	log       string
}

func (r result) failed() bool { return r.Err != nil || len(r.Violations) > 0 }

// runPlan runs a plan and judges it.
func (c *Campaign) runPlan(ctx context.Context, j job) result {
	r := &planRun{Campaign: c, job: j, crashes: make(chan plan.Fault, 16)}
	began := time.Now()
	res := r.execute(ctx)
	res.Plan, res.Took = j.plan, time.Since(began)
	return res
}

func (r *planRun) execute(ctx context.Context) (res result) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "snapsched-faults-")
	if err != nil {
		return result{Err: err}
	}
	r.dir = dir
	defer func() { res.Err = errors.Join(res.Err, os.RemoveAll(dir)) }()
	if r.workload.Collects {
		if err := r.cluster.Collects(ctx); err != nil {
			return result{Err: err}
		}
	}
	if r.run, err = r.cluster.NewRun(ctx, r.nextNamespace()); err != nil {
		return result{Err: err}
	}
	defer r.cluster.Records.Forget(r.run.Namespace)
	defer func() { _ = r.run.CleanUp(context.WithoutCancel(ctx)) }()
	r.run.StopOperator, r.run.StartOperator = r.stopAll, r.startAll
	if err := errors.Join(r.workload.Prepare(ctx, r.run), r.prepareNeighbor(ctx)); err != nil {
		return result{Err: fmt.Errorf("prepare workload %s: %w", r.workload.Name, err)}
	}
	defer r.cluster.Records.Forget(r.neighbor())
	if err := r.cluster.Records.CatchUp(ctx, r.cluster.Client, r.run.Namespace); err != nil {
		return result{Err: err}
	}
	r.proxy = proxy.New(proxy.Options{
		Upstream: r.cluster.Upstream, Transport: r.cluster.Transport, Token: r.cluster.Token, Namespace: r.run.Namespace,
		Namespaced: r.workload.Neighbor != nil, Fleet: r.workload.Fleet, Past: r.run, Faults: r.plan.Faults,
		Nicknames: r.run.Nicknames(), Always: r.workload.Always, Crash: r.crash,
	})
	r.began = time.Now()
	defer r.killAll()
	if r.plan.Date != nil {
		r.proxy.SetDate(r.plan.Date)
		r.dateWrong = true
	}
	if err := r.startAll(ctx); err != nil {
		return result{Err: err}
	}
	late, err := r.untilEnd(ctx)
	if err != nil {
		return result{Err: err, log: r.logs()}
	}
	return r.judge(ctx, late)
}

// neighbor is the namespace of the other tenant, if there is one.
func (r *planRun) neighbor() string { return r.run.Namespace + "-neighbor" }

func (r *planRun) prepareNeighbor(ctx context.Context) error {
	r.flags = slices.Clone(r.workload.Flags)
	if n := r.workload.MaxInFlight; n > 0 {
		r.flags = append(r.flags, fmt.Sprint("--max-in-flight-per-driver=", n))
	}
	if r.workload.Neighbor == nil {
		return nil
	}
	r.flags = append(r.flags, "--watch-namespaces="+r.run.Namespace+","+r.neighbor())
	run, err := r.cluster.NewRun(ctx, r.neighbor())
	if err != nil {
		return err
	}
	return r.workload.Neighbor(ctx, run)
}

// untilEnd continues the run until its end. After the timeout, late says what is
// missing.
func (r *planRun) untilEnd(ctx context.Context) (late, err error) {
	timeout := runTimeout
	if r.workload.Slow {
		timeout = slowTimeout
	}
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case f := <-r.crashes:
			if err := r.restart(f); err != nil {
				return nil, err
			}
		case <-deadline.C:
			if r.plan.SafetyOnly() { // it may never be quiet: it looks for what the answers left out
				return nil, nil
			}
			return fmt.Errorf("not finished after %s: %w", timeout, r.unfinished()), nil
		case <-r.run.Told():
		case <-tick.C:
		}
		if err := r.advance(ctx); err != nil {
			return nil, err
		}
		if r.unfinished() == nil || r.plan.SafetyOnly() && r.proxy.Quiet() > quietDifferent {
			return nil, nil
		}
	}
}

// advance ends faults that last, restarts processes that exited, and takes the next
// step of the workload when it is due.
func (r *planRun) advance(ctx context.Context) error {
	if err := r.cluster.Records.Broken(); err != nil {
		return err
	}
	for _, p := range r.running() {
		if err := r.maintain(p); err != nil {
			return err
		}
	}
	if r.dateWrong && r.proxy.WrongDates() > 0 && r.proxy.Quiet() > quietTime {
		r.dateWrong = false
		r.proxy.SetDate(nil)
	}
	if r.step < len(r.workload.Steps) {
		next := r.workload.Steps[r.step]
		if next.When(r.run.State()) && (!next.Calm || r.proxy.Quiet() > quietTime) {
			r.step++
			if err := next.Do(ctx, r.run); err != nil {
				return fmt.Errorf("%s: %w", next.What, err)
			}
			// The step after it must not be due in the state before it.
			if err := r.cluster.Records.CatchUp(ctx, r.cluster.Client, r.run.Namespace); err != nil {
				return fmt.Errorf("%s: %w", next.What, err)
			}
		}
	}
	return nil
}

// unfinished returns what the run still waits for; nil at its end.
func (r *planRun) unfinished() error {
	switch {
	case r.step < len(r.workload.Steps):
		return fmt.Errorf("step %q of the workload is not due yet", r.workload.Steps[r.step].What)
	case r.dateWrong && r.proxy.WrongDates() == 0 && r.proxy.Quiet() < 2*time.Second:
		return errors.New("no live read has received the wrong Date")
	case r.dateWrong && r.proxy.WrongDates() > 0:
		return errors.New("the Date is still wrong")
	case len(r.crashes) > 0:
		return errors.New("the operator is down")
	}
	for _, p := range r.running() {
		if p.treatment.Frozen > 0 {
			return errors.New("the operator is shown the past")
		}
	}
	enough := quietTime
	if r.want == nil || r.plan.IdleFor > 0 {
		enough = quietReference
	}
	if q := r.proxy.Quiet(); q < enough {
		return fmt.Errorf("the operator is still active: its last request or event was %s ago", q.Round(time.Millisecond))
	}
	state := r.run.State()
	if err := r.workload.End(state); err != nil {
		return err
	}
	return r.compareEnd(state)
}

// compareEnd compares the end state to that of the reference run (L1).
func (r *planRun) compareEnd(state environment.State) error {
	if r.want == nil {
		return nil
	}
	var errs []error
	for _, v := range oracle.L1(*r.want, oracle.TakeEndState(state.Objects())) {
		errs = append(errs, errors.New(v.Message))
	}
	return errors.Join(errs...)
}
