// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between the operator and the API server: it records all
// that goes through, and does to it what a plan says. It speaks plain HTTP on
// loopback, one address for each process of the operator, and confines them to
// one namespace.
package proxy

import (
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/history"
	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Past knows what the API server held earlier.
type Past interface {
	// Object is an object as it was at a revision, as JSON; nil if it was not.
	Object(resource, name string, revision int64) []byte
	// Ages are the revisions that plan.Fault.Age means.
	Ages() [3]int64
}

// Options are what a gate is made with.
type Options struct {
	// Upstream is the API server, and Transport the way to it.
	Upstream  *url.URL
	Transport http.RoundTripper
	// Token is the operator's: clients send none where there is no TLS.
	Token string
	// Namespace is all that the operator sees.
	Namespace string
	Past      Past
	Faults    []plan.Fault
	// Nicknames are names of objects that are the same in every run.
	Nicknames map[string]string
	// Always is asked before each request; a deed that it returns is what the API
	// server answers every time.
	Always func(plan.Point) plan.Deed
	// Crash kills a process and returns when it is dead.
	Crash func(process int, f plan.Fault)
}

// rbac is how the API server words that no role allows something.
var rbac = regexp.MustCompile(`User ".*" cannot [a-z]+ resource`)

// lateBy is how late a delayed event or write is.
const lateBy = time.Second

// managerLateBy is how late each event, or write, of the slower of two managers
// is.
const managerLateBy = 300 * time.Millisecond

// Gate is the proxy of one run.
type Gate struct {
	Options

	mu       sync.Mutex
	names    *names
	trace    plan.Trace
	requests []history.Request
	answered []answered
	pending  map[plan.Point]plan.Fault
	began    time.Time
	ended    time.Time
	inflight int
	last     time.Time
	lie      *plan.Lie
	lied     int
	windows  []history.Window
	peers    []*Process
}

// answered is what the API server said of the object that a request changed.
type answered struct{ uid, version string }

// New makes a gate without processes.
func New(o Options) *Gate {
	g := &Gate{Options: o, names: newNames(o.Nicknames), pending: map[plan.Point]plan.Fault{}, last: time.Now()}
	for _, f := range o.Faults {
		g.pending[f.At] = f
	}
	return g
}

// Trace is the points that the run has passed.
func (g *Gate) Trace() plan.Trace {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(plan.Trace(nil), g.trace...)
}

// Missed are the faults whose points were not met.
func (g *Gate) Missed() []plan.Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	var missed []plan.Fault
	for _, f := range g.Faults {
		if _, waits := g.pending[f.At]; waits {
			missed = append(missed, f)
		}
	}
	return missed
}

// Quiet is how long the operator has made no request and was told no news; zero
// while it fills its caches.
func (g *Gate) Quiet() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inflight > 0 {
		return 0
	}
	for _, p := range g.peers {
		if !p.dead && len(p.synced) < len(cached) {
			return 0
		}
	}
	return time.Since(g.last)
}

// Requests are those so far. The index of one that changed an object is found
// by what the API server answered: see Changed.
func (g *Gate) Requests() []history.Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]history.Request(nil), g.requests...)
}

// Changed finds the request that made a change seen at a time: the write that was
// answered with this version of the object, or the delete of it. Two patches are
// answered with a version that someone else made: one that asks for nothing that was
// not so before, and one that ends the object by its last finalizer, which is
// answered with the version that it was held to. It is -1 if there is none.
func (g *Gate) Changed(uid, version string, before []byte, deleted bool, at time.Time) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, a := range g.answered {
		r := g.requests[i]
		if a.uid == uid && uid != "" && r.At.Before(at) && (a.version == version || deleted && r.Verb == "delete" && a.version == "") {
			if r.Verb == "patch" && (satisfies(before, r.Body) || metaOf(r.Body).Metadata.ResourceVersion == version) {
				continue
			}
			return i
		}
	}
	return -1
}

// Windows are those in which faults were at work, clocks lied and caches were
// not filled.
func (g *Gate) Windows() []history.Window {
	g.mu.Lock()
	defer g.mu.Unlock()
	windows := append([]history.Window(nil), g.windows...)
	for _, p := range g.peers {
		windows = append(windows, history.Window{Kind: history.Unsynced, From: p.began, Until: p.full, Process: p.Index})
	}
	if !g.began.IsZero() {
		windows = append(windows, history.Window{Kind: history.Faulty, From: g.began, Until: g.ended, Process: -1})
	}
	return windows
}

// Lie has the Date be wrong from now on; nil: the truth.
func (g *Gate) Lie(l *plan.Lie) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if g.lie != nil {
		w := &g.windows[len(g.windows)-1]
		w.Until = now
	}
	g.lie = l
	if l != nil {
		g.windows = append(g.windows, history.Window{Kind: history.Skewed, From: now, Process: -1})
		g.touch(now)
	}
}

// Lied counts the live reads whose Date was wrong.
func (g *Gate) Lied() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lied
}

// Faulty marks that faults are at work, from the first call to now.
func (g *Gate) Faulty() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.touch(time.Now())
}

func (g *Gate) touch(now time.Time) {
	if g.began.IsZero() {
		g.began = now
	}
	g.ended = now
}

// begin takes note of a request and says what is to be done to it.
func (g *Gate) begin(p *Process, q *request) (int, *plan.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	q.point = g.names.request(*q)
	g.trace = append(g.trace, q.point)
	r := history.Request{
		At: now, Clock: now, Process: p.Index, Verb: q.verb, Group: q.group, Resource: q.full(),
		Namespace: q.namespace, Name: q.name, Body: q.body,
	}
	if q.resource == "" {
		r.Name = q.path
	}
	if q.verb == "delete" {
		r.UID, r.ResourceVersion = preconditions(q.body)
	}
	g.requests = append(g.requests, r)
	g.answered = append(g.answered, answered{})
	if q.verb != "watch" {
		g.inflight++
		g.last = now
	}
	return len(g.requests) - 1, g.fault(q.point, now)
}

func (g *Gate) fault(point plan.Point, now time.Time) *plan.Fault {
	if f, ok := g.pending[point]; ok {
		delete(g.pending, point)
		g.touch(now)
		return &f
	}
	return nil
}

func (g *Gate) end(q request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.verb != "watch" {
		g.inflight--
		g.last = time.Now()
	}
}

// reached takes note of what the API server answered.
func (g *Gate) reached(i int, q request, a answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &g.requests[i]
	r.Reached, r.Code, r.Forbidden = true, a.code, a.denied()
	if a.code >= 300 || !q.write() {
		return
	}
	m := metaOf(a.body)
	g.answered[i] = answered{uid: m.Metadata.UID, version: m.Metadata.ResourceVersion}
	if m.Kind == "Status" {
		g.answered[i] = answered{uid: m.Details.UID}
	}
}

// seen takes note of what the operator was told.
func (g *Gate) seen(i int, q request, a answer, date time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &g.requests[i]
	r.Seen, r.Date = a.code, date
	if q.verb == "get" && q.resource != "" && a.code == http.StatusOK {
		r.Answer = a.body
	}
	if g.lie != nil && q.verb == "get" && q.resource != "" {
		g.lied++
		g.touch(time.Now())
	}
}

// news takes note of an event that is about to be delivered.
func (g *Gate) news(kind, resource string, m meta) *plan.Fault {
	g.mu.Lock()
	defer g.mu.Unlock()
	point, first := g.names.event(kind, resource, m)
	if first {
		g.trace = append(g.trace, point)
	}
	g.last = time.Now()
	return g.fault(point, g.last)
}

func (g *Gate) dateOf(truth string) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lie == nil {
		return truth, true
	}
	now := time.Now().Add(g.lie.By)
	switch {
	case g.lie.None:
		return "", false
	case g.lie.Garbage:
		return "yesterday", true
	case !g.lie.At.IsZero():
		now = g.lie.At
	}
	return now.UTC().Format(http.TimeFormat), true
}
