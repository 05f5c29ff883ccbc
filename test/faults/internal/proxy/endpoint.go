// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Treatment is how an endpoint treats its process.
type Treatment struct {
	// Frozen, if not 0, is the revision that lists show, and watches stay at, until
	// Unfreeze.
	Frozen int64
	// LateView and LateWrites delay every event, or every write.
	LateView, LateWrites bool
}

// Endpoint is the API server's address for one process of the operator.
type Endpoint struct {
	proxy *Proxy
	// Index counts the endpoints of a run from 0.
	Index int
	URL   string

	server    *http.Server
	treatment Treatment
	unfrozen  chan struct{}
	once      sync.Once

	// The proxy's mutex guards the fields below.
	opened, syncedAt time.Time
	closed           bool
	synced           map[string]bool
	// expired are the resources whose next watch is answered with 410 Gone.
	expired map[string]bool
	// relist is closed to end watches, so that the operator lists again;
	// incomplete are the resources of which a list left something out.
	relist     chan struct{}
	incomplete map[string]bool
}

// Listen opens an endpoint for a new process.
func (p *Proxy) Listen(t Treatment) (*Endpoint, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	e := &Endpoint{
		proxy: p, Index: len(p.endpoints), URL: "http://" + listener.Addr().String(), treatment: t, opened: time.Now(),
		synced: map[string]bool{}, expired: map[string]bool{}, incomplete: map[string]bool{},
		relist: make(chan struct{}), unfrozen: make(chan struct{}),
	}
	p.endpoints = append(p.endpoints, e)
	if t.Frozen > 0 {
		p.markFaulty(e.opened)
	}
	p.mu.Unlock()
	e.server = &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	go func() { _ = e.server.Serve(listener) }()
	return e, nil
}

// Close ends all connections of a process that is dead.
func (e *Endpoint) Close() {
	e.proxy.mu.Lock()
	e.closed = true
	if e.syncedAt.IsZero() {
		e.syncedAt = time.Now()
	}
	e.proxy.mu.Unlock()
	_ = e.server.Close()
}

// Unfreeze shows the present to a process that was shown the past.
func (e *Endpoint) Unfreeze() {
	e.once.Do(func() {
		e.proxy.MarkFaulty()
		close(e.unfrozen)
	})
}

// Relist makes the operator list again what a list left out, and reports whether
// there was anything.
func (e *Endpoint) Relist() bool {
	e.proxy.mu.Lock()
	defer e.proxy.mu.Unlock()
	if len(e.incomplete) == 0 {
		return false
	}
	e.incomplete = map[string]bool{}
	e.proxy.markFaulty(time.Now())
	close(e.relist)
	e.relist = make(chan struct{})
	return true
}

func (e *Endpoint) frozen() bool {
	if e.treatment.Frozen == 0 {
		return false
	}
	select {
	case <-e.unfrozen:
		return false
	default:
		return true
	}
}

// ServeHTTP forwards one request, or injects its fault.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	q := parse(r, body)
	i, f := e.proxy.beginRequest(e, &q)
	defer e.proxy.endRequest(q)
	if q.isWrite() && e.treatment.LateWrites {
		sleep(r.Context(), managerDelay)
	}
	if q.verb == "watch" {
		e.watch(w, r, q, i, f)
		return
	}
	a := e.answer(r, q, i, f)
	if q.verb == "list" && a.code == http.StatusOK {
		if a.body, err = e.finishList(q, a.body, f); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	e.write(w, q, i, a)
}

// answer returns the response to a request, with its fault if there is one.
func (e *Endpoint) answer(r *http.Request, q request, i int, f *plan.Fault) response {
	if f == nil {
		return e.forward(r, q, i)
	}
	switch f.Action {
	case plan.CrashBefore:
		e.proxy.Crash(e.Index, *f)
		panic(http.ErrAbortHandler)
	case plan.CrashAfter, plan.Travel:
		e.forward(r, q, i)
		e.proxy.Crash(e.Index, *f)
		panic(http.ErrAbortHandler)
	case plan.Lost:
		e.forward(r, q, i)
		panic(http.ErrAbortHandler)
	case plan.TimedOut:
		e.forward(r, q, i)
	case plan.Delay:
		sleep(r.Context(), delay)
		return e.forward(r, q, i)
	case plan.Stale:
		return e.stale(r, q, i, f)
	case plan.Empty, plan.Truncated:
		return e.forward(r, q, i)
	}
	a, ok := refusal(f.Action, q)
	if !ok {
		panic("no such action at a request: " + f.Action)
	}
	return a
}

func (e *Endpoint) stale(r *http.Request, q request, i int, f *plan.Fault) response {
	revision := e.proxy.Past.Ages()[f.Age]
	if q.verb == "list" {
		return e.forwardAt(r, q, i, revision)
	}
	a := e.forward(r, q, i)
	if a.code != http.StatusOK && a.code != http.StatusNotFound {
		return a
	}
	old := e.proxy.Past.Object(q.resource, q.name, revision)
	if old == nil {
		return notFound(q)
	}
	if q.metadata {
		old = asMetadata(old)
	}
	return response{code: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: old}
}

func (e *Endpoint) markIncomplete(resource string) {
	e.proxy.mu.Lock()
	defer e.proxy.mu.Unlock()
	e.incomplete[resource] = true
}

// markSynced records that a cache has received its initial state.
func (e *Endpoint) markSynced(resource string) {
	e.proxy.mu.Lock()
	defer e.proxy.mu.Unlock()
	e.synced[resource] = true
	e.proxy.lastActivity = time.Now()
	if e.syncedAt.IsZero() && e.hasSynced(cached[:len(cached)-len(fleets)]) { // no snapshot is deleted for what fleets' caches hold
		e.syncedAt = e.proxy.lastActivity
	}
}

// hasSynced returns whether those of some caches that the operator fills have received
// their initial state.
func (e *Endpoint) hasSynced(caches []string) bool {
	return !slices.ContainsFunc(caches, func(resource string) bool { return e.proxy.needs(resource) && !e.synced[resource] })
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
