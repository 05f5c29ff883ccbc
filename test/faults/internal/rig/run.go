// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rig runs the operator in process through a workload, with the faults of a plan, and judges what it does.
package rig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/wire"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/workload"
)

const (
	// quietTime is how long the operator must be quiet at the end of a run.
	quietTime = 400 * time.Millisecond
	// quietReference is the same for reference runs, whose end state is not known, and for those that are observed afterwards: longer
	// than every debounce and first retry.
	quietReference = 2 * time.Second
	// runTimeout limits a run, slowTimeout one that waits for the namespace controller.
	runTimeout  = 30 * time.Second
	slowTimeout = 90 * time.Second
)

// Result is what became of a run.
type Result struct {
	Trace []plan.Point
	End   judge.EndState
	// Missed is set if the run did not reach the point of its fault.
	Missed bool
	// Violations are of the guarantees. Err says why the run could not be judged.
	Violations []string
	Err        error
	// Log is the end of the operators' logs.
	Log string
}

// Run is one run of one plan, from an empty namespace to its end.
type Run struct {
	server   *environment.Cluster
	workload workload.Workload
	plan     plan.Plan
	// want is the end state to reach; nil for a reference run.
	want *judge.EndState

	run   *environment.Run
	wire  *wire.Wire
	judge *judge.AtWrite
	// step is the index of the next step of the workload.
	step    int
	crashes chan struct{}
	log     tail

	mu        sync.Mutex
	operators []*operator
}

// Do runs a plan of a workload in a namespace.
func Do(ctx context.Context, server *environment.Cluster, w workload.Workload, p plan.Plan, want *judge.EndState, namespace string) Result {
	r := &Run{server: server, workload: w, plan: p, want: want, crashes: make(chan struct{}, 16)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := r.prepare(ctx, namespace); err != nil {
		return Result{Err: fmt.Errorf("prepare workload %s: %w", w.Name, err)}
	}
	defer server.Records.Forget(namespace)
	defer server.Records.Forget(r.neighbor())
	defer func() { _ = r.run.CleanUp(context.WithoutCancel(ctx)) }()
	defer r.killAll()
	r.startAll()
	late, err := r.untilEnd(ctx)
	if err != nil {
		return Result{Err: err, Log: r.log.String()}
	}
	return r.result(ctx, late)
}

func (r *Run) prepare(ctx context.Context, namespace string) (err error) {
	if r.workload.Collects {
		if err := r.server.Collects(); err != nil {
			return err
		}
	}
	if r.run, err = r.server.NewRun(ctx, namespace); err != nil {
		return err
	}
	r.run.StopOperator, r.run.StartOperator = r.stopAll, r.startAll
	if err := r.workload.Prepare(ctx, r.run); err != nil {
		return err
	}
	if r.workload.Neighbor != nil {
		neighbor, err := r.server.NewRun(ctx, r.neighbor())
		if err != nil {
			return err
		}
		if err := r.workload.Neighbor(ctx, neighbor); err != nil {
			return err
		}
	}
	if err := r.server.Records.CatchUp(ctx, r.server.Client, namespace); err != nil {
		return err
	}
	r.wire = wire.New(wire.Options{
		Namespace: namespace, Namespaced: r.workload.Neighbor != nil, Fleet: r.workload.Fleet, Plan: r.plan,
		Nicknames: r.run.Nicknames, Always: r.workload.Always, Crash: r.crash, Judge: r.judgeWrite,
	})
	objects := func(ctx context.Context) ([]client.Object, error) { return judge.Read(ctx, r.server.Client, namespace) }
	r.judge = judge.NewAtWrite(objects, namespace, func() bool { return false })
	r.judge.Limits = r.workload.Limits
	r.judge.Limits.Drivers = map[string]string{namespace: r.run.DriverName()}
	r.judge.Moments = r.moments
	r.remember()
	return nil
}

// remember gives the judge all versions of all objects so far: an operator may be shown any of them.
func (r *Run) remember() {
	for _, c := range r.run.Changes() {
		r.judge.Remember(c.Object)
	}
}

// judgeWrite has a write judged.
func (r *Run) judgeWrite(ctx context.Context, l *wire.Link, a judge.Attempt) (answered func(code int)) {
	a.Sees = r.plan.Class != plan.TwoManagers // what another manager has begun it cannot know
	since := time.Now().Add(-judge.GuardsWindow)
	a.Read = func(resource, name string) bool { return l.HasRead(resource, name, since) }
	return r.judge.Write(ctx, a)
}

// moments returns what the namespace has held since a time, the latest first.
func (r *Run) moments(since time.Time) (all []judge.Moment) {
	held, from := map[types.UID]client.Object{}, time.Time{}
	for _, c := range r.run.Changes() {
		if c.At.After(since) {
			all = append(all, judge.Moment{From: from, Until: c.At, Objects: slices.Collect(maps.Values(held))})
		}
		from = c.At
		if held[c.Object.GetUID()] = c.Object; c.Removed {
			delete(held, c.Object.GetUID())
		}
	}
	slices.Reverse(all)
	return all
}

// neighbor is the namespace of the other tenant, if there is one.
func (r *Run) neighbor() string { return r.run.Namespace + "-neighbor" }

// untilEnd continues the run until its end. After the timeout, late says what is missing.
func (r *Run) untilEnd(ctx context.Context) (late, err error) {
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
		case <-r.crashes:
			r.start()
		case <-deadline.C:
			return fmt.Errorf("not finished after %s: %w", timeout, r.unfinished()), nil
		case <-tick.C:
		}
		if err := r.advance(ctx); err != nil {
			return nil, err
		}
		if r.unfinished() == nil {
			return nil, nil
		}
	}
}

// quiet returns how long the operators have sent no request, and nothing has changed that they might react to.
func (r *Run) quiet() time.Duration {
	quiet := r.wire.Quiet()
	for _, c := range r.run.Changes() {
		quiet = min(quiet, time.Since(c.At))
	}
	return quiet
}

// advance starts operators again that ended, and takes the next step of the workload when it is due.
func (r *Run) advance(ctx context.Context) error {
	if err := r.server.Records.Broken(); err != nil {
		return err
	}
	r.maintain()
	if r.step == len(r.workload.Steps) {
		return nil
	}
	next := r.workload.Steps[r.step]
	if isDue := next.When(r.run.State()) == nil; !isDue || next.Calm && r.quiet() <= quietTime {
		return nil
	}
	r.step++
	// The step after it must not be due in the state before it.
	if err := errors.Join(r.take(ctx, next), r.server.Records.CatchUp(ctx, r.server.Client, r.run.Namespace)); err != nil {
		return fmt.Errorf("%s: %w", next.What, err)
	}
	r.remember()
	return nil
}

// take takes a step. One that stops or starts operators must not hold up their writes.
func (r *Run) take(ctx context.Context, s workload.Step) error {
	if !s.Operators {
		r.wire.World.Lock()
		defer r.wire.World.Unlock()
	}
	return s.Do(ctx, r.run)
}

// unfinished returns what the run still waits for; nil at its end.
func (r *Run) unfinished() error {
	switch {
	case r.step < len(r.workload.Steps):
		next := r.workload.Steps[r.step]
		return errors.Join(fmt.Errorf("step %q of the workload is not due yet", next.What), next.When(r.run.State()))
	case len(r.crashes) > 0:
		return errors.New("the operator is down")
	}
	enough := quietTime
	if r.want == nil || r.plan.IdleFor > 0 {
		enough = quietReference
	}
	if q := r.quiet(); q < enough {
		return fmt.Errorf("the operator is still active: its last request, or a change, was %s ago", q.Round(time.Millisecond))
	}
	state := r.run.State()
	if err := r.workload.End(state); err != nil || r.want == nil {
		return err
	}
	var errs []error
	for _, v := range judge.L1(*r.want, judge.TakeEndState(state, time.Now())) {
		errs = append(errs, errors.New(v))
	}
	return errors.Join(errs...)
}

// result judges the run.
func (r *Run) result(ctx context.Context, late error) Result {
	var atEnd []string
	if r.plan.IdleFor > 0 {
		atEnd = r.observe(ctx)
	}
	r.killAll()
	if err := r.server.Records.CatchUp(ctx, r.server.Client, r.run.Namespace); err != nil {
		return Result{Err: err}
	}
	res := Result{Trace: r.wire.Trace(), End: judge.TakeEndState(r.run.State(), time.Now()), Missed: r.wire.Missed()}
	res.Violations = slices.Concat(r.judge.Found(), atEnd)
	for _, s := range r.wire.Sent() {
		if s.Forbidden {
			res.Violations = append(res.Violations, "S6: "+s.Point.String()+" is forbidden by the shipped roles")
		}
		if s.Unpaged {
			res.Violations = append(res.Violations, "L3: "+s.Point.String()+" lists all objects at once")
		}
	}
	if late != nil {
		res.Violations = append(res.Violations, "L1: "+late.Error())
	}
	if len(res.Violations) > 0 {
		res.Err, res.Log = r.run.Driver.Err(), r.log.String()
	}
	return res
}

// observe returns what happens while nothing may happen (L2) or, while some PVCs or a neighbor fail for good, what is late of the others
// (L3).
func (r *Run) observe(ctx context.Context) (found []string) {
	if r.workload.Broken != "" || r.workload.Neighbor != nil {
		return r.observeBroken(ctx)
	}
	sent, changes := len(r.wire.Sent()), len(r.run.Changes())
	httpapi.Sleep(ctx, r.plan.IdleFor)
	for _, s := range r.wire.Sent()[sent:] {
		if s.Point.Verb != "watch" && s.Point.Resource != "leases" {
			found = append(found, "L2: "+s.Point.String()+" was sent while nothing was due")
		}
	}
	for _, c := range r.run.Changes()[changes:] {
		found = append(found, fmt.Sprintf("L2: revision %d was written while nothing was due", c.Revision))
	}
	return found
}

func (r *Run) observeBroken(ctx context.Context) (found []string) {
	for until := time.Now().Add(max(r.plan.IdleFor, judge.ReactionTime+2*time.Second)); time.Now().Before(until) && ctx.Err() == nil; {
		httpapi.Sleep(ctx, time.Second)
		now, current := time.Now(), r.run.State()
		then := current
		if past := r.moments(now.Add(-judge.ReactionTime)); len(past) > 0 { // the last of them is of that time
			then = judge.StateOf(past[len(past)-1].Objects)
		}
		for _, what := range judge.Late(then, current, now, judge.ReactionTime, r.workload.Broken) {
			found = append(found, "L3: "+what)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
