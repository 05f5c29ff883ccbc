// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/oracle"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/proxy"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

const (
	// quiet is how long nothing must happen before a run is taken to be at rest.
	quiet = 400 * time.Millisecond
	// atRest is the same for reference runs, in which nobody knows yet what the end
	// is: longer than any debounce and first retry.
	atRest = 2 * time.Second
	// atRestForGood is how long nothing must happen before a run is given up whose end
	// may be another one.
	atRestForGood = 5 * time.Second
	// longest is how long a run may take, and longestSlow one that waits for the
	// namespace controller.
	longest     = 30 * time.Second
	longestSlow = 90 * time.Second
	// frozenFor is how long the past is shown at most.
	frozenFor = 4 * time.Second
	// restartAfter is what a kubelet does with a process that ended by itself.
	restartAfter = 300 * time.Millisecond
)

// trial is one run of one plan, from the empty namespace to its end.
type trial struct {
	*Campaign
	workload workload.Workload
	plan     plan.Plan
	// reference is the end state to come to; nil in a reference run.
	reference *oracle.EndState

	run     *environment.Run
	gate    *proxy.Gate
	dir     string
	step    int
	lies    bool
	crashes chan plan.Fault

	mu        sync.Mutex
	processes []*process
	began     time.Time
}

// process is one process of the operator with its way to the API server.
type process struct {
	*environment.Operator
	*proxy.Process
	manner  proxy.Manner
	started time.Time
	// stopped is set when the process was ended on purpose, and is not to be
	// started again by whoever finds it dead.
	stopped bool
	index   int
}

// result is what came of a trial.
type result struct {
	Plan       plan.Plan
	Took       time.Duration
	Missed     []plan.Fault
	Violations []oracle.Violation
	// Err says that nothing could be judged: the campaign itself failed.
	Err error

	trace   plan.Trace
	end     oracle.EndState
	history *history.History
	// nicknames are what the workload calls the snapshots that were there before.
	nicknames map[string]string
	log       string
}

func (r result) failed() bool { return r.Err != nil || len(r.Violations) > 0 }

// try runs a plan and judges it.
func (c *Campaign) try(ctx context.Context, w workload.Workload, p plan.Plan, reference *oracle.EndState) result {
	t := &trial{Campaign: c, workload: w, plan: p, reference: reference, crashes: make(chan plan.Fault, 16)}
	began := time.Now()
	r := t.do(ctx)
	r.Plan, r.Took = p, time.Since(began)
	return r
}

func (t *trial) do(ctx context.Context) (r result) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dir, err := os.MkdirTemp("", "snapsched-faults-")
	if err != nil {
		return result{Err: err}
	}
	t.dir = dir
	defer func() { r.Err = errors.Join(r.Err, os.RemoveAll(dir)) }()
	if t.workload.Collects {
		if err := t.cluster.Collects(ctx); err != nil {
			return result{Err: err}
		}
	}
	if t.run, err = t.cluster.NewRun(ctx, t.namespace()); err != nil {
		return result{Err: err}
	}
	defer t.cluster.Records.Forget(t.run.Namespace)
	t.run.StopOperator, t.run.StartOperator = t.stopAll, t.startAll
	if err := t.workload.Prepare(ctx, t.run); err != nil {
		return result{Err: fmt.Errorf("prepare %s: %w", t.workload.Name, err)}
	}
	if err := t.cluster.Records.CatchUp(ctx, t.cluster.Client, t.run.Namespace); err != nil {
		return result{Err: err}
	}
	t.gate = proxy.New(proxy.Options{
		Upstream: t.cluster.Upstream, Transport: t.cluster.Transport, Token: t.cluster.Token, Namespace: t.run.Namespace, Past: t.run,
		Faults: t.plan.Faults, Nicknames: t.run.Nicknames(), Always: t.workload.Always, Crash: t.crash,
	})
	t.began = time.Now()
	defer t.killAll()
	if t.plan.Lie != nil {
		t.gate.Lie(t.plan.Lie)
		t.lies = true
	}
	if err := t.startAll(ctx); err != nil {
		return result{Err: err}
	}
	late, err := t.untilEnd(ctx)
	if err != nil {
		return result{Err: err, log: t.logs()}
	}
	return t.judge(ctx, late)
}

// startAll starts the operator: two of it if the plan says so.
func (t *trial) startAll(context.Context) error {
	how := proxy.Manner{}
	if t.plan.From != nil && len(t.processes) == 0 {
		how.Frozen = t.run.Ages()[*t.plan.From]
	}
	if err := t.start(how); err != nil {
		return err
	}
	if t.plan.Two == "" {
		return nil
	}
	t.gate.Faulty()
	return t.start(proxy.Manner{LateView: t.plan.Two == plan.LateView, LateWrites: t.plan.Two == plan.LateWrites})
}

func (t *trial) start(how proxy.Manner) error {
	p, err := t.gate.Listen(how)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("operator-%d", p.Index)
	o, err := t.cluster.StartOperator(t.Operator, p.URL, t.dir, name)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.processes = append(t.processes, &process{Operator: o, Process: p, manner: how, started: time.Now(), index: p.Index})
	return nil
}

func (t *trial) alive() []*process {
	t.mu.Lock()
	defer t.mu.Unlock()
	var alive []*process
	for _, p := range t.processes {
		if !p.stopped {
			alive = append(alive, p)
		}
	}
	return alive
}

func (t *trial) stopAll(context.Context) error {
	for _, p := range t.alive() {
		t.end(p)
		if err := p.Stop(); err != nil {
			return err
		}
		p.Close()
	}
	return nil
}

func (t *trial) killAll() {
	for _, p := range t.alive() {
		t.end(p)
		p.Kill()
		p.Close()
	}
}

func (t *trial) end(p *process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.stopped = true
}

// crash kills the process that has come to a fault. It is called by the proxy,
// which holds the request meanwhile.
func (t *trial) crash(index int, f plan.Fault) {
	for _, p := range t.alive() {
		if p.index == index {
			t.end(p)
			p.Kill()
			t.crashes <- f
		}
	}
}

// untilEnd lets the run go on until it has come to its end. It returns why the
// end is not what it should be, after the longest time that a run may take.
func (t *trial) untilEnd(ctx context.Context) (late, err error) {
	limit := longest
	if t.workload.Slow {
		limit = longestSlow
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case f := <-t.crashes:
			if err := t.restartAfter(f); err != nil {
				return nil, err
			}
		case <-deadline.C:
			return fmt.Errorf("after %s: %w", limit, t.missing()), nil
		case <-t.run.Told():
		case <-tick.C:
		}
		if err := t.advance(ctx); err != nil {
			return nil, err
		}
		if t.missing() == nil || t.plan.SafetyOnly() && t.gate.Quiet() > atRestForGood {
			return nil, nil
		}
	}
}

// restartAfter starts the operator again after a crash.
func (t *trial) restartAfter(f plan.Fault) error {
	t.mu.Lock()
	for _, p := range t.processes {
		if p.stopped {
			p.Close()
		}
	}
	t.mu.Unlock()
	how := proxy.Manner{}
	if f.Do == plan.Travel {
		how.Frozen = t.run.Ages()[f.Age]
	}
	return t.start(how)
}

// advance does what is due: the next step, and the end of faults that last.
func (t *trial) advance(ctx context.Context) error {
	if err := t.cluster.Records.Broken(); err != nil {
		return err
	}
	for _, p := range t.alive() {
		if err := t.tend(p); err != nil {
			return err
		}
	}
	if t.lies && t.gate.Lied() > 0 && t.gate.Quiet() > quiet {
		t.lies = false
		t.gate.Lie(nil)
	}
	if t.step < len(t.workload.Steps) {
		next := t.workload.Steps[t.step]
		if next.When(t.run.State()) {
			t.step++
			if err := next.Do(ctx, t.run); err != nil {
				return fmt.Errorf("%s: %w", next.What, err)
			}
		}
	}
	return nil
}

// tend ends what lasts for one process, and starts it again if it has ended by
// itself.
func (t *trial) tend(p *process) error {
	select {
	case <-p.Ended():
		if time.Since(p.started) < restartAfter {
			return nil
		}
		t.end(p)
		p.Close()
		return t.start(p.manner)
	default:
	}
	if p.manner.Frozen > 0 && (t.gate.Quiet() > quiet || time.Since(p.started) > frozenFor) {
		p.manner.Frozen = 0
		p.Thaw()
	}
	if t.gate.Quiet() > quiet {
		p.Heal()
	}
	return nil
}

// missing says what the run still has to come to; nil at its end.
func (t *trial) missing() error {
	switch {
	case t.step < len(t.workload.Steps):
		return fmt.Errorf("it has not come to the time to %s", t.workload.Steps[t.step].What)
	case t.lies && t.gate.Lied() == 0 && t.gate.Quiet() < 2*time.Second:
		return errors.New("no live read was shown the wrong date")
	case t.lies && t.gate.Lied() > 0:
		return errors.New("the clock is still wrong")
	case len(t.crashes) > 0:
		return errors.New("the operator is down")
	}
	for _, p := range t.alive() {
		if p.manner.Frozen > 0 {
			return errors.New("the operator is shown the past")
		}
	}
	enough := quiet
	if t.reference == nil {
		enough = atRest
	}
	if q := t.gate.Quiet(); q < enough {
		return fmt.Errorf("the operator is not at rest: its last request or news was %s ago", q.Round(time.Millisecond))
	}
	state := t.run.State()
	if err := t.workload.End(state); err != nil {
		return err
	}
	return t.differs(state)
}

// differs compares the end to that of the reference run (L1).
func (t *trial) differs(state environment.State) error {
	if t.reference == nil {
		return nil
	}
	var errs []error
	for _, v := range oracle.L1(*t.reference, oracle.TakeEndState(state.Objects())) {
		errs = append(errs, errors.New(v.Message))
	}
	return errors.Join(errs...)
}
