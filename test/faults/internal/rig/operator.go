// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
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

// restartDelay is the delay before an operator that ended is started again, as by a kubelet.
const restartDelay = 300 * time.Millisecond

// operator is one operator in process, with its network.
type operator struct {
	link  *wire.Link
	end   context.CancelFunc
	ended chan struct{}
}

// start starts an operator.
func (r *Run) start() {
	o := &operator{link: r.wire.NewLink(), ended: make(chan struct{})}
	config := rest.CopyConfig(r.server.Operator)
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		o.link.Base = base
		return o.link
	})
	ctx, end := context.WithCancel(context.Background())
	o.end = end
	options := inprocess.Options{
		Workers: cmp.Or(r.workload.Workers, 64), DeletesPerSecond: cmp.Or(r.workload.DeletesPerSecond, 50),
		MaxInFlight: r.workload.Limits.InFlight, Clock: clock.RealClock{},
		StatusInterval: 200 * time.Millisecond, MaxClockSkew: time.Minute, KindsInterval: time.Minute,
	}
	if r.workload.Neighbor != nil {
		options.Namespaces = []string{r.run.Namespace, r.neighbor()}
	}
	m, err := inprocess.New(ctx, config, options, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		Logger: zap.New(zap.WriteTo(&r.log)),
	})
	go func() {
		defer close(o.ended)
		if err != nil { // its discovery failed, for example
			fmt.Fprintln(&r.log, err)
			return
		}
		_ = m.Start(ctx) // an error is in its log, and it is started again
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operators = append(r.operators, o)
}

// startAll starts the operator, twice for plans with two managers.
func (r *Run) startAll() {
	r.start()
	if r.plan.Class == plan.TwoManagers {
		r.start()
	}
}

// running returns the operators that were not ended on purpose.
func (r *Run) running() []*operator {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.operators)
}

// forget keeps an operator from being started again when it ends.
func (r *Run) forget(o *operator) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operators = slices.DeleteFunc(r.operators, func(other *operator) bool { return other == o })
}

// stopAll ends all operators as a kubelet does: they finish what they have begun.
func (r *Run) stopAll() {
	for _, o := range r.running() {
		r.forget(o)
		o.end()
		<-o.ended
		o.link.Cut()
	}
}

// killAll ends all operators as a crash does.
func (r *Run) killAll() {
	for _, o := range r.running() {
		r.kill(o)
	}
}

// kill breaks the connections of an operator before it knows that it ends, so that it cannot do more.
func (r *Run) kill(o *operator) {
	r.forget(o)
	o.link.Cut()
	o.end()
}

// crash kills the operator of a link. It is called in the middle of its request.
func (r *Run) crash(l *wire.Link) {
	for _, o := range r.running() {
		if o.link == l {
			r.kill(o)
			r.crashes <- struct{}{}
		}
	}
}

// maintain starts operators again that ended by themselves.
func (r *Run) maintain() {
	for _, o := range r.running() {
		select {
		case <-o.ended:
			if time.Since(o.link.Started) >= restartDelay {
				r.kill(o)
				r.start()
			}
		default:
		}
	}
}

// tail keeps what operators log.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

// String returns the last lines.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.SplitAfter(t.text.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-50):], "")
}
