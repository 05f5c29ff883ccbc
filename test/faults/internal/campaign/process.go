// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package campaign

import (
	"context"
	"fmt"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/environment"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/proxy"
)

const (
	// frozenTime is how long a process is shown the past at most.
	frozenTime = 4 * time.Second
	// restartDelay is the delay before a process that exited is restarted, as by a
	// kubelet.
	restartDelay = 300 * time.Millisecond
)

// process is one process of the operator with its endpoint.
type process struct {
	*environment.Operator
	*proxy.Endpoint
	treatment proxy.Treatment
	started   time.Time
	// stopped is set when the process is stopped on purpose, so that it is not
	// restarted.
	stopped bool
}

// startAll starts the operator, twice for plans with two managers.
func (r *planRun) startAll(context.Context) error {
	var t proxy.Treatment
	if r.plan.StartAge != nil && len(r.processes) == 0 {
		t.Frozen = r.run.Ages()[*r.plan.StartAge]
	}
	if err := r.start(t); err != nil {
		return err
	}
	if r.plan.Interleaving == "" {
		return nil
	}
	r.proxy.MarkFaulty()
	return r.start(proxy.Treatment{
		LateView: r.plan.Interleaving == plan.LateView, LateWrites: r.plan.Interleaving == plan.LateWrites,
	})
}

func (r *planRun) start(t proxy.Treatment) error {
	e, err := r.proxy.Listen(t)
	if err != nil {
		return err
	}
	o, err := r.cluster.StartOperator(r.Operator, e.URL, r.dir, fmt.Sprintf("operator-%d", e.Index), r.flags...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processes = append(r.processes, &process{Operator: o, Endpoint: e, treatment: t, started: time.Now()})
	return nil
}

func (r *planRun) running() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	var running []*process
	for _, p := range r.processes {
		if !p.stopped {
			running = append(running, p)
		}
	}
	return running
}

func (r *planRun) markStopped(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p.stopped = true
}

func (r *planRun) stopAll(context.Context) error {
	for _, p := range r.running() {
		r.markStopped(p)
		if err := p.Stop(); err != nil {
			return err
		}
		p.Close()
	}
	return nil
}

func (r *planRun) killAll() {
	for _, p := range r.running() {
		r.markStopped(p)
		p.Kill()
		p.Close()
	}
}

// crash kills the process of an endpoint. The proxy calls it while it holds the
// request at which the process crashes.
func (r *planRun) crash(endpoint int, f plan.Fault) {
	for _, p := range r.running() {
		if p.Index == endpoint {
			r.markStopped(p)
			p.Kill()
			r.crashes <- f
		}
	}
}

// restart starts the operator again after a crash.
func (r *planRun) restart(f plan.Fault) error {
	r.mu.Lock()
	for _, p := range r.processes {
		if p.stopped {
			p.Close()
		}
	}
	r.mu.Unlock()
	var t proxy.Treatment
	if f.Action == plan.Travel {
		t.Frozen = r.run.Ages()[f.Age]
	}
	return r.start(t)
}

// maintain restarts a process that exited by itself, and ends the faults of one that
// is quiet.
func (r *planRun) maintain(p *process) error {
	select {
	case <-p.Ended():
		if time.Since(p.started) < restartDelay {
			return nil
		}
		r.markStopped(p)
		p.Close()
		return r.start(p.treatment)
	default:
	}
	quiet := r.proxy.Quiet() > quietTime
	if p.treatment.Frozen > 0 && (quiet || time.Since(p.started) > frozenTime) {
		p.treatment.Frozen = 0
		p.Unfreeze()
	}
	if quiet {
		p.Relist()
	}
	return nil
}

// logs returns the end of the logs of the last processes.
func (r *planRun) logs() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, p := range r.processes[max(0, len(r.processes)-3):] {
		_, _ = fmt.Fprintf(&text, "--- log of process %d\n%s\n", p.Index, p.Tail(25))
	}
	return text.String()
}
