// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between the operator and the API server: it records every
// request and watch event, and injects the faults of a plan. It speaks plain HTTP
// on loopback, with one endpoint for each process of the operator, and confines
// them to one namespace.
package proxy

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Past knows earlier states of the API server.
type Past interface {
	// Object returns an object as JSON as it was at a revision; nil if it did not exist.
	Object(resource, name string, revision int64) []byte
	// Ages returns the revisions that plan.Fault.Age selects.
	Ages() [3]int64
}

// Options configure a proxy.
type Options struct {
	// Upstream is the API server, reached by Transport.
	Upstream  *url.URL
	Transport http.RoundTripper
	// Token is the operator's: client-go sends none without TLS.
	Token string
	// Namespace is the run's: all that the operator sees, unless it asks for another
	// namespace by name.
	Namespace string
	// Namespaced is set if the operator has Roles only: it reads no VolumeSnapshotClasses.
	Namespaced bool
	// Fleet is set if faults are injected at the run's ClusterSnapshotSchedule and its namespace.
	Fleet  bool
	Past   Past
	Faults []plan.Fault
	// Nicknames are names of objects that are the same in every run.
	Nicknames map[string]string
	// Always is called before each request; the action that it returns is injected
	// every time.
	Always func(plan.Point) plan.Action
	// Crash kills the process of an endpoint and returns when it is dead.
	Crash func(endpoint int, f plan.Fault)
}

// rbacDenied matches the API server's message when no role allows a request.
var rbacDenied = regexp.MustCompile(`User ".*" cannot [a-z]+ resource`)

const (
	// delay is how late a delayed event or write is.
	delay = time.Second
	// managerDelay is how late each event, or write, of the slower of two managers is.
	managerDelay = 300 * time.Millisecond
)

// Proxy is the proxy of one run.
type Proxy struct {
	Options

	mu       sync.Mutex
	names    *names
	trace    plan.Trace
	requests []history.Request
	// written is what the API server answered to each of requests.
	written []written
	// pending are the faults whose points the run has not reached.
	pending map[plan.Point]plan.Fault
	// faultyFrom and faultyUntil are the first and the last time of a fault.
	faultyFrom, faultyUntil time.Time
	inFlight                int
	lastActivity            time.Time
	date                    *plan.DateFault
	wrongDates              int
	windows                 []history.Window
	endpoints               []*Endpoint
}

// written identifies the object version that a request created.
type written struct{ uid, version string }

// New returns a proxy without endpoints.
func New(o Options) *Proxy {
	p := &Proxy{Options: o, names: newNames(o.Nicknames), pending: map[plan.Point]plan.Fault{}, lastActivity: time.Now()}
	for _, f := range o.Faults {
		p.pending[f.At] = f
	}
	return p
}

// Trace returns the points that the run has passed.
func (p *Proxy) Trace() plan.Trace {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.trace)
}

// needs returns whether the operator fills a cache before it is complete.
func (p *Proxy) needs(resource string) bool {
	return (resource != snapshotClasses || !p.Namespaced) && (p.Fleet || !slices.Contains(fleets, resource))
}

// Missed returns the faults whose points the run did not reach.
func (p *Proxy) Missed() []plan.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var missed []plan.Fault
	for _, f := range p.Faults {
		if _, ok := p.pending[f.At]; ok {
			missed = append(missed, f)
		}
	}
	return missed
}

// Quiet returns how long the operator has sent no request and received no event;
// zero while it fills its caches.
func (p *Proxy) Quiet() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inFlight > 0 {
		return 0
	}
	for _, e := range p.endpoints {
		if !e.closed && !e.hasSynced(cached) {
			return 0
		}
	}
	return time.Since(p.lastActivity)
}

// Requests returns the requests so far.
func (p *Proxy) Requests() []history.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// RequestOf returns the index in Requests of the request that made a change; -1 if
// there is none. It is the write that was answered with this version of the object,
// or its delete. Two kinds of patches are answered with a version that someone else
// made, and do not count: one that changes nothing, and one that removes the last
// finalizer, which is answered with the version in its precondition.
func (p *Proxy) RequestOf(uid, version string, before []byte, deleted bool, at time.Time) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range p.written {
		r := p.requests[i]
		if uid == "" || w.uid != uid || !r.At.Before(at) || w.version != version && (!deleted || r.Verb != "delete" || w.version != "") {
			continue
		}
		if r.Verb == "patch" && (satisfies(before, r.Body) || metaOf(r.Body).Metadata.ResourceVersion == version) {
			continue
		}
		return i
	}
	return -1
}

// Windows returns the periods of faults, wrong dates and unsynced caches.
func (p *Proxy) Windows() []history.Window {
	p.mu.Lock()
	defer p.mu.Unlock()
	windows := slices.Clone(p.windows)
	for _, e := range p.endpoints {
		windows = append(windows, history.Window{Kind: history.Unsynced, From: e.opened, Until: e.syncedAt, Process: e.Index})
	}
	if !p.faultyFrom.IsZero() {
		windows = append(windows, history.Window{Kind: history.Faulty, From: p.faultyFrom, Until: p.faultyUntil, Process: -1})
	}
	return windows
}

// SetDate falsifies the Date header from now on; nil restores the true one.
func (p *Proxy) SetDate(d *plan.DateFault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.date != nil {
		p.windows[len(p.windows)-1].Until = now
	}
	p.date = d
	if d != nil {
		p.windows = append(p.windows, history.Window{Kind: history.Skewed, From: now, Process: -1})
		p.markFaulty(now)
	}
}

// WrongDates returns the number of live reads that were answered with a wrong Date.
func (p *Proxy) WrongDates() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrongDates
}

// MarkFaulty extends the period of faults to now.
func (p *Proxy) MarkFaulty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.markFaulty(time.Now())
}

func (p *Proxy) markFaulty(now time.Time) {
	if p.faultyFrom.IsZero() {
		p.faultyFrom = now
	}
	p.faultyUntil = now
}

// beginRequest records a request and returns its index and the fault to inject.
func (p *Proxy) beginRequest(e *Endpoint, q *request) (int, *plan.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	q.neighbor = q.namespace != "" && q.namespace != p.Namespace || !p.Fleet && q.isFleets()
	q.point = p.names.request(*q)
	if !q.neighbor {
		p.trace = append(p.trace, q.point)
	}
	r := history.Request{
		At: now, Clock: now, Process: e.Index, Verb: q.verb, Group: q.group, Resource: q.resourcePath(),
		Namespace: q.namespace, Name: q.name, Body: q.body, Unpaged: q.isUnpaged(),
	}
	if q.resource == "" {
		r.Name = q.path
	}
	if q.verb == "delete" {
		r.UID, r.ResourceVersion = preconditions(q.body)
	}
	p.requests = append(p.requests, r)
	p.written = append(p.written, written{})
	if q.isActivity() {
		p.inFlight++
		p.lastActivity = now
	}
	if q.neighbor {
		return len(p.requests) - 1, nil
	}
	return len(p.requests) - 1, p.takeFault(q.point, now)
}

func (p *Proxy) takeFault(point plan.Point, now time.Time) *plan.Fault {
	f, ok := p.pending[point]
	if !ok {
		return nil
	}
	delete(p.pending, point)
	p.markFaulty(now)
	return &f
}

func (p *Proxy) endRequest(q request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.isActivity() {
		p.inFlight--
		p.lastActivity = time.Now()
	}
}

// recordAnswer records what the API server answered.
func (p *Proxy) recordAnswer(i int, q request, a response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.requests[i]
	r.Reached, r.Code, r.Forbidden = true, a.code, a.denied()
	if a.code >= 300 || !q.isWrite() {
		return
	}
	m := metaOf(a.body)
	p.written[i] = written{uid: m.Metadata.UID, version: m.Metadata.ResourceVersion}
	if m.Kind == "Status" {
		p.written[i] = written{uid: m.Details.UID}
	}
}

// recordDelivered records what the operator received.
func (p *Proxy) recordDelivered(i int, q request, a response, date time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &p.requests[i]
	r.Seen, r.Date = a.code, date
	if q.verb != "get" || q.resource == "" {
		return
	}
	if a.code == http.StatusOK {
		r.Answer = a.body
	}
	if p.date != nil && !q.neighbor {
		p.wrongDates++
		p.markFaulty(time.Now())
	}
}

// recordEvent records an event that is about to be delivered, and returns the fault
// to inject.
func (p *Proxy) recordEvent(kind, resource string, m meta) *plan.Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	point, first := p.names.event(kind, resource, m)
	if first {
		p.trace = append(p.trace, point)
	}
	p.lastActivity = time.Now()
	return p.takeFault(point, p.lastActivity)
}

// dateHeader returns the Date header to send; ok is false for none.
func (p *Proxy) dateHeader(truth string) (value string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.date == nil:
		return truth, true
	case p.date.Missing:
		return "", false
	case p.date.Garbage:
		return "yesterday", true
	case !p.date.At.IsZero():
		return p.date.At.UTC().Format(http.TimeFormat), true
	}
	return time.Now().Add(p.date.Offset).UTC().Format(http.TimeFormat), true
}
