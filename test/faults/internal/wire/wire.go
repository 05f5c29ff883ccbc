// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is the network between operators that run in process and the API server. Each operator has a Link, which is its
// http.RoundTripper. The Wire names every request, injects the fault of a plan, shows the operators one namespace only, and has every
// write judged when it passes.
//
//   - wire.go: the network of a run, and what it has seen
//   - link.go: one operator's network: what is answered to a request, and delivered of a watch
//   - request.go: requests, their names, which are the same in every run, and refusals
package wire

import (
	"context"
	"slices"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Options configure a Wire.
type Options struct {
	// Namespace is the run's: all that the operators see, unless they ask for another one by name.
	Namespace string
	// Namespaced is set if the operators have Roles only: they read no VolumeSnapshotClasses.
	Namespaced bool
	// Fleet is set if faults are injected at the run's ClusterSnapshotSchedule and its namespace.
	Fleet bool
	// Plan has the action that is injected once.
	Plan plan.Plan
	// Nicknames are names of objects that are the same in every run.
	Nicknames map[string]string
	// Always is called before each request; the action that it returns is injected every time.
	Always func(plan.Point) plan.Action
	// Crash ends the operator of a link. It must not wait for its requests.
	Crash func(l *Link)
	// Judge is called with every write that is about to reach the API server, one at a time, and returns what is called with the status
	// code of the answer. Nothing is written meanwhile by who holds World.
	Judge func(ctx context.Context, l *Link, a judge.Attempt) (answered func(code int))
}

// delay is how late a delayed request is.
const delay = time.Second

// Wire is the network of one run.
type Wire struct {
	// World is held while a write is judged and made, and while others change the objects on which that depends.
	World sync.Mutex

	options Options

	mu    sync.Mutex
	names names
	// reached is set once the point of the plan was.
	reached      bool
	inFlight     int
	lastActivity time.Time
	sent         []Sent
	links        []*Link
}

// Sent is a request that was sent.
type Sent struct {
	Point     plan.Point
	Forbidden bool
	Unpaged   bool
	neighbor  bool
}

// New returns a Wire without links.
func New(o Options) *Wire {
	return &Wire{options: o, names: newNames(o.Nicknames), lastActivity: time.Now()}
}

// Trace returns the points that the run has passed.
func (w *Wire) Trace() (trace []plan.Point) {
	for _, s := range w.Sent() {
		if !s.neighbor {
			trace = append(trace, s.Point)
		}
	}
	return trace
}

// Sent returns the requests so far.
func (w *Wire) Sent() []Sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// Missed returns whether the run did not reach the point of its plan.
func (w *Wire) Missed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.options.Plan.Action != "" && !w.reached
}

// Quiet returns how long the operators have sent no request and received no event; zero while they fill their caches.
func (w *Wire) Quiet() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	fills := func(l *Link) bool { return l.alive.Err() == nil && !l.hasSynced(cached) }
	if w.inFlight > 0 || slices.ContainsFunc(w.links, fills) {
		return 0
	}
	return time.Since(w.lastActivity)
}

// needs returns whether an operator fills a cache before it is complete.
func (w *Wire) needs(resource string) bool {
	return (resource != snapshotClasses || !w.options.Namespaced) && (w.options.Fleet || !slices.Contains(fleets, resource))
}

// begin names a request, and returns the action of the plan at it.
func (w *Wire) begin(q *request) plan.Action {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.neighbor = q.Namespace != "" && q.Namespace != w.options.Namespace || !w.options.Fleet && q.isFleets()
	q.point = w.names.request(q)
	q.sent = len(w.sent)
	w.sent = append(w.sent, Sent{Point: q.point, Unpaged: q.isUnpaged(), neighbor: q.neighbor})
	if q.isActivity() {
		w.inFlight++
		w.lastActivity = time.Now()
	}
	if w.options.Plan.At != q.point {
		return ""
	}
	w.reached = true
	return w.options.Plan.Action
}

func (w *Wire) end(q *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.isActivity() {
		w.inFlight--
		w.lastActivity = time.Now()
	}
}

// active records that an operator received an event.
func (w *Wire) active() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastActivity = time.Now()
}
