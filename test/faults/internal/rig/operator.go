// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/wire"
	"mapcontroller.dev/snapshotschedule/test/internal/inprocess"
)

const (
	// frozenTime is how long an operator is shown the past at most.
	frozenTime = 4 * time.Second
	// restartDelay is the delay before an operator that ended is started again, as by a kubelet.
	restartDelay = 300 * time.Millisecond
)

// operator is one operator in process, with its network.
type operator struct {
	*wire.Link
	started time.Time
	end     context.CancelFunc
	ended   chan struct{}
	// stopped is set when it was ended on purpose, so that it is not started again.
	stopped bool
	log     *tail
}

// start starts an operator.
func (r *Run) start(t wire.Treatment) {
	l := r.wire.NewLink(t)
	config := rest.CopyConfig(r.server.Operator)
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		l.Base = base
		return l
	})
	o := &operator{Link: l, started: time.Now(), ended: make(chan struct{}), log: &tail{}}
	ctx, end := context.WithCancel(context.Background())
	o.end = end
	options := inprocess.Options{
		Workers: 64, StatusInterval: 200 * time.Millisecond, DeletesPerSecond: 50, MaxClockSkew: time.Minute, KindsInterval: time.Minute,
		MaxInFlight: r.workload.Limits.InFlight, Clock: clock.RealClock{},
	}
	options.Workers = cmp.Or(r.workload.Workers, options.Workers)
	options.DeletesPerSecond = cmp.Or(r.workload.DeletesPerSecond, options.DeletesPerSecond)
	if r.workload.Neighbor != nil {
		options.Namespaces = []string{r.run.Namespace, r.neighbor()}
	}
	m, err := inprocess.New(ctx, config, options, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		Logger: zap.New(zap.WriteTo(o.log)),
	})
	go func() {
		defer close(o.ended)
		if err != nil { // its discovery failed, for example
			fmt.Fprintln(o.log, err)
			return
		}
		_ = m.Start(ctx) // an error is in its log, and it is started again
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operators = append(r.operators, o)
}

// startAll starts the operator, twice for plans with two managers.
func (r *Run) startAll(context.Context) error {
	var t wire.Treatment
	if r.plan.StartAge != nil && len(r.operators) == 0 {
		t.Frozen = r.run.Ages()[*r.plan.StartAge]
	}
	r.start(t)
	if r.plan.Interleaving != "" {
		r.start(wire.Treatment{LateView: r.plan.Interleaving == plan.LateView, LateWrites: r.plan.Interleaving == plan.LateWrites})
	}
	return nil
}

func (r *Run) running() (running []*operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.operators {
		if !o.stopped {
			running = append(running, o)
		}
	}
	return running
}

func (r *Run) markStopped(o *operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.stopped = true
}

// stopAll ends all operators as a kubelet does: they finish what they have begun.
func (r *Run) stopAll(context.Context) error {
	for _, o := range r.running() {
		r.markStopped(o)
		o.end()
		<-o.ended
		o.Cut()
	}
	return nil
}

// killAll ends all operators as a crash does.
func (r *Run) killAll() {
	for _, o := range r.running() {
		r.kill(o)
	}
}

// kill breaks the connections of an operator before it knows that it ends, so that it cannot do more.
func (r *Run) kill(o *operator) {
	r.markStopped(o)
	o.Cut()
	o.end()
}

// crash kills the operator of a link. It is called in the middle of its request.
func (r *Run) crash(l *wire.Link, f plan.Fault) {
	for _, o := range r.running() {
		if o.Link == l {
			r.kill(o)
			r.crashes <- f
		}
	}
}

// restart starts the operator again after a crash.
func (r *Run) restart(f plan.Fault) {
	var t wire.Treatment
	if f.Action == plan.Travel {
		t.Frozen = r.run.Ages()[f.Age]
	}
	r.start(t)
}

// maintain starts an operator again that ended by itself, and ends the faults of one that is quiet.
func (r *Run) maintain(o *operator) {
	select {
	case <-o.ended:
		if time.Since(o.started) >= restartDelay {
			r.kill(o)
			r.start(o.Treatment)
		}
		return
	default:
	}
	if o.IsFrozen() && (r.wire.Quiet() > quietTime || time.Since(o.started) > frozenTime) {
		o.Unfreeze()
	}
}

// logs returns the end of the logs of the last operators.
func (r *Run) logs() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, o := range r.operators[max(0, len(r.operators)-3):] {
		text.WriteString("--- log of an operator\n" + o.log.last(25))
	}
	return text.String()
}

// tail keeps what is written.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.SplitAfter(t.text.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
