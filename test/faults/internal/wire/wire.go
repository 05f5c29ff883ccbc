// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is the network between operators that run in process and the API server. Each operator has a Link, which is its
// http.RoundTripper. The Wire names every request, injects the fault of a plan, shows the operators one namespace only, and has every
// write judged when it passes.
//
//   - wire.go: the network of a run, and what it has seen; one operator's network: what is answered to a request
//   - request.go: requests, their names, which are the same in every run, and refusals
package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/httpapi"
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

	mu           sync.Mutex
	names        names
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
	return w.options.Plan.Action != "" && !slices.Contains(w.Trace(), w.options.Plan.At)
}

// Quiet returns how long the operators have sent no request; zero while they fill their caches.
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
	if w.options.Plan.At == q.point {
		return w.options.Plan.Action
	}
	return ""
}

func (w *Wire) end(q *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.isActivity() {
		w.inFlight--
		w.lastActivity = time.Now()
	}
}

// Link is the network of one operator.
type Link struct {
	// Base sends requests to the API server.
	Base http.RoundTripper
	// Started is when its operator did.
	Started time.Time

	wire *Wire
	// alive ends with the operator: nothing is delivered any more, but what the API server has received it does.
	alive context.Context
	cut   context.CancelFunc

	// The mutex of the Wire guards the fields below.
	synced map[string]bool
	// reads are the last live reads of objects in the run's namespace, and of all of a resource.
	reads map[string]time.Time
}

// NewLink returns the network of a new operator, which Base has to complete.
func (w *Wire) NewLink() *Link {
	alive, cut := context.WithCancel(context.Background())
	l := &Link{Started: time.Now(), wire: w, alive: alive, cut: cut, synced: map[string]bool{}, reads: map[string]time.Time{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links = append(w.links, l)
	return l
}

// Cut breaks all connections of an operator that is dead.
func (l *Link) Cut() { l.cut() }

// hasSynced returns whether some caches have received their initial state. The mutex of the Wire is held.
func (l *Link) hasSynced(caches []string) bool {
	return !slices.ContainsFunc(caches, func(resource string) bool { return l.wire.needs(resource) && !l.synced[resource] })
}

// canDelete returns whether the caches that deletes depend on have received their initial state.
func (l *Link) canDelete() bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	return l.hasSynced(cached[:3])
}

// HasRead returns whether an object of the run's namespace was read live since a time, alone or with all others.
func (l *Link) HasRead(resource, name string, since time.Time) bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	return l.reads[resource+"/"+name].After(since) || l.reads[resource+"/"].After(since)
}

// RoundTrip implements http.RoundTripper.
func (l *Link) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := parse(r)
	if err != nil {
		return nil, err
	}
	if l.alive.Err() != nil {
		return nil, httpapi.ErrDown
	}
	action := l.wire.begin(q)
	defer l.wire.end(q)
	// Requests end with the operator's context, or with the operator.
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l.alive, cancel)
	context.AfterFunc(ctx, func() { stop() })
	var resp *http.Response
	if q.Verb == "watch" {
		resp, err = l.Base.RoundTrip(l.upstream(r, q).WithContext(ctx))
		if err == nil && resp.StatusCode == http.StatusOK {
			return resp, nil
		}
	} else {
		resp, err = l.answer(ctx, r, q, action)
	}
	defer cancel()
	if err != nil {
		return nil, err
	}
	body, err := httpapi.Buffer(resp)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	l.answered(q, resp.StatusCode, headOf(body))
	return resp, nil
}

// answered records what the operator has read live, which caches it has filled, and what it may not do.
func (l *Link) answered(q *request, code int, body head) {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	l.wire.sent[q.sent].Forbidden = code == http.StatusForbidden && rbacDenied.MatchString(body.Message)
	answered := code == http.StatusOK || code == http.StatusNotFound
	if answered && q.Namespace == l.wire.options.Namespace && (q.Verb == "get" || q.Verb == "list") {
		l.reads[q.Resource+"/"+q.Name] = time.Now()
	}
	if q.Verb == "list" && q.fillsCache() && code == http.StatusOK && body.Metadata.Continue == "" {
		l.synced[q.Resource] = true
	}
}

// answer returns the response to a request, unless the plan has the operator crash before or after it.
func (l *Link) answer(ctx context.Context, r *http.Request, q *request, action plan.Action) (*http.Response, error) {
	if action != plan.CrashBefore {
		resp, err := l.forward(ctx, r, q)
		if action != plan.CrashAfter {
			return resp, err
		}
	}
	l.wire.options.Crash(l)
	return nil, httpapi.ErrDown
}

// forward sends a request to the API server, unless something is always done to it.
func (l *Link) forward(ctx context.Context, r *http.Request, q *request) (*http.Response, error) {
	if always := l.wire.options.Always; always != nil {
		action := always(q.point)
		if err := refusal(action, q); err != nil {
			return httpapi.Answer(r, nil, err), nil
		}
		switch action {
		case plan.Delay:
			httpapi.Sleep(ctx, delay)
		case plan.Hang:
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	return l.send(r, q)
}

// send sends a request to the API server, which gets it even if the operator dies meanwhile. A write is judged before.
func (l *Link) send(r *http.Request, q *request) (*http.Response, error) {
	answered := func(int) {}
	if q.IsWrite() && !q.neighbor {
		l.wire.World.Lock()
		defer l.wire.World.Unlock()
		answered = l.wire.options.Judge(context.Background(), l, judge.Attempt{
			Verb: q.Verb, Resource: q.Resource, Subresource: q.Subresource, Name: q.Name, Body: q.Body,
			Started: l.Started, Unsynced: !l.canDelete(),
		})
	}
	resp, err := l.Base.RoundTrip(l.upstream(r, q).WithContext(context.WithoutCancel(r.Context())))
	if err == nil {
		answered(resp.StatusCode)
	}
	return resp, err
}

// upstream returns the request to the API server: for objects of the run, or for the one with the name of its namespace; answered in
// JSON, which can be read here.
func (l *Link) upstream(r *http.Request, q *request) *http.Request {
	out := r.Clone(r.Context())
	query := r.URL.Query()
	switch namespace := l.wire.options.Namespace; {
	case q.Name != "" || q.Namespace != "" || !slices.Contains(cached, q.Resource):
	case q.Resource == snapshotClasses || slices.Contains(fleets, q.Resource):
		query.Set("fieldSelector", "metadata.name="+namespace)
	default:
		out.URL.Path = strings.TrimSuffix(r.URL.Path, q.Resource) + "namespaces/" + namespace + "/" + q.Resource
	}
	out.URL.RawPath, out.URL.RawQuery = "", query.Encode()
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(q.Body)), int64(len(q.Body))
	if len(q.Body) == 0 {
		out.Body = nil
	}
	out.Header.Del("Accept-Encoding")
	out.Header.Set("Accept", onlyJSON(r.Header.Get("Accept")))
	return out
}

func onlyJSON(accept string) string {
	kept := slices.DeleteFunc(strings.Split(accept, ","), func(part string) bool { return !strings.Contains(part, "application/json") })
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}
