// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Treatment is how a link treats its operator.
type Treatment struct {
	// Frozen, if not 0, is the revision that lists show, and watches stay at, until Unfreeze.
	Frozen int64
	// LateView and LateWrites delay every event, or every write.
	LateView, LateWrites bool
}

// Link is the network of one operator.
type Link struct {
	*Wire
	Treatment
	// Base sends requests to the API server.
	Base http.RoundTripper

	// alive ends with the operator: nothing is delivered any more, but what the API server has
	// received it does.
	alive    context.Context
	cut      context.CancelFunc
	unfrozen chan struct{}

	// The mutex of the Wire guards the fields below.
	dead   bool
	synced map[string]bool
	// reads are the last live reads of objects in the run's namespace, and of all of a resource.
	reads map[string]time.Time
	// expired are the resources whose next watch is answered with 410 Gone.
	expired map[string]bool
	// relist is closed to end watches, so that the operator lists again; incomplete are the
	// resources of which a list left something out.
	relist     chan struct{}
	incomplete map[string]bool
}

// NewLink returns the network of a new operator, which Base has to complete.
func (w *Wire) NewLink(t Treatment) *Link {
	alive, cut := context.WithCancel(context.Background())
	l := &Link{
		Wire: w, Treatment: t, alive: alive, cut: cut, synced: map[string]bool{}, reads: map[string]time.Time{}, expired: map[string]bool{},
		incomplete: map[string]bool{}, relist: make(chan struct{}), unfrozen: make(chan struct{}),
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links = append(w.links, l)
	return l
}

// Cut breaks all connections of an operator that is dead.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	l.cut()
}

// Unfreeze shows the present to an operator that was shown the past. It is called once.
func (l *Link) Unfreeze() { close(l.unfrozen) }

// IsFrozen returns whether the operator is shown the past.
func (l *Link) IsFrozen() bool {
	if l.Frozen == 0 {
		return false
	}
	select {
	case <-l.unfrozen:
		return false
	default:
		return true
	}
}

// Relist makes the operator list again what a list left out, and reports whether there was
// anything.
func (l *Link) Relist() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.incomplete) == 0 {
		return false
	}
	l.incomplete = map[string]bool{}
	close(l.relist)
	l.relist = make(chan struct{})
	return true
}

// HasSynced returns whether the caches that deletes depend on have received their initial state.
func (l *Link) HasSynced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hasSynced(cached[:3])
}

// HasRead returns whether an object of the run's namespace was read live since a time, alone or with all others.
func (l *Link) HasRead(resource, name string, since time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reads[resource+"/"+name].After(since) || l.reads[resource+"/"].After(since)
}

func (l *Link) hasSynced(caches []string) bool {
	return !slices.ContainsFunc(caches, func(resource string) bool { return l.needs(resource) && !l.synced[resource] })
}

func (l *Link) markSynced(resource string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.synced[resource] = true
	l.lastActivity = time.Now()
}

func (l *Link) markIncomplete(resource string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.incomplete[resource] = true
}

// RoundTrip implements http.RoundTripper.
func (l *Link) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if l.alive.Err() != nil {
		return nil, errDown
	}
	q := parse(r, body)
	i, f := l.begin(&q)
	defer l.end(q)
	// Requests end with the operator's context, or with the operator.
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l.alive, cancel)
	if q.verb == "watch" {
		return l.watch(ctx, r, q, i, f, func() { stop(); cancel() })
	}
	defer cancel()
	defer stop()
	if q.isWrite() && l.LateWrites {
		sleep(ctx, managerDelay)
	}
	a, err := l.answer(ctx, r, q, f)
	if err == nil && q.verb == "list" && a.code == http.StatusOK {
		err = l.finishList(q, &a, f)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	l.answered(i, q, &a)
	if q.namespace == l.Namespace && (q.verb == "get" || q.verb == "list") && (a.code == http.StatusOK || a.code == http.StatusNotFound) {
		l.mu.Lock()
		l.reads[q.resource+"/"+q.name] = time.Now()
		l.mu.Unlock()
	}
	return a.toHTTP(r), nil
}

func (a response) toHTTP(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)),
	}
}

// answer returns the response to a request, with its fault if there is one.
func (l *Link) answer(ctx context.Context, r *http.Request, q request, f *plan.Fault) (response, error) {
	if f == nil {
		return l.forward(ctx, r, q)
	}
	switch f.Action {
	case plan.CrashBefore:
		l.Crash(l, *f)
		return response{}, errDown
	case plan.CrashAfter, plan.Travel:
		_, _ = l.forward(ctx, r, q)
		l.Crash(l, *f)
		return response{}, errDown
	case plan.Lost:
		_, _ = l.forward(ctx, r, q)
		return response{}, errDown
	case plan.TimedOut:
		_, _ = l.forward(ctx, r, q)
	case plan.Delay:
		sleep(ctx, delay)
		return l.forward(ctx, r, q)
	case plan.Stale:
		return l.stale(ctx, r, q, f)
	case plan.Empty, plan.Truncated:
		return l.forward(ctx, r, q)
	}
	a, ok := refusal(f.Action, q)
	if !ok {
		panic("no such action at a request: " + f.Action)
	}
	return a, nil
}

func (l *Link) stale(ctx context.Context, r *http.Request, q request, f *plan.Fault) (response, error) {
	revision := l.Past.Ages()[f.Age]
	if q.verb == "list" {
		q.query = listAt(q.query, revision)
		return l.send(r, q)
	}
	a, err := l.forward(ctx, r, q)
	if err != nil || a.code != http.StatusOK && a.code != http.StatusNotFound {
		return a, err
	}
	old := l.Past.Object(q.resource, q.name, revision)
	if old == nil {
		return notFound(q), nil
	}
	if q.metadata {
		old = asMetadata(old)
	}
	return response{code: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: old}, nil
}

// forward sends a request to the API server, unless something is always done to it.
func (l *Link) forward(ctx context.Context, r *http.Request, q request) (response, error) {
	if l.Always != nil {
		action := l.Always(q.point)
		if a, ok := refusal(action, q); ok {
			return a, nil
		}
		switch action {
		case plan.Delay:
			sleep(ctx, delay)
		case plan.Hang:
			<-ctx.Done()
			return response{}, ctx.Err()
		}
	}
	if l.IsFrozen() && q.verb == "list" && q.fillsCache() {
		q.query = listAt(q.query, l.Frozen)
	}
	return l.send(r, q)
}

// send sends a request to the API server, which gets it even if the operator dies meanwhile. A
// write is judged before.
func (l *Link) send(r *http.Request, q request) (response, error) {
	answered := func(int) {}
	if q.isWrite() && !q.neighbor && l.Judge != nil {
		l.World.Lock()
		defer l.World.Unlock()
		answered = l.Judge(context.Background(), Write{
			Link: l, Verb: q.verb, Resource: q.resource, Subresource: q.subresource, Namespace: q.namespace, Name: q.name,
			ContentType: r.Header.Get("Content-Type"), Body: q.body,
		})
	}
	resp, err := l.Base.RoundTrip(l.upstream(r, q).WithContext(context.WithoutCancel(r.Context())))
	if err != nil {
		return response{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return response{}, err
	}
	answered(resp.StatusCode)
	resp.Header.Del("Content-Length")
	return response{code: resp.StatusCode, header: resp.Header, body: body}, nil
}

// upstream returns the request to the API server: confined to the namespace, and answered in
// JSON, which can be read here.
func (l *Link) upstream(r *http.Request, q request) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Path = q.confined(r.URL.Path, l.Namespace)
	out.URL.RawPath = ""
	out.URL.RawQuery = q.confinedQuery(l.Namespace)
	out.Body, out.ContentLength = nil, 0
	if len(q.body) > 0 {
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(q.body)), int64(len(q.body))
	}
	out.Header.Del("Accept-Encoding")
	out.Header.Set("Accept", onlyJSON(r.Header.Get("Accept")))
	return out
}

func onlyJSON(accept string) string {
	var kept []string
	for part := range strings.SplitSeq(accept, ",") {
		if strings.Contains(part, "application/json") {
			kept = append(kept, part)
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

// finishList leaves objects out of a list if its fault says so, and records what the list means
// for the operator's cache.
func (l *Link) finishList(q request, a *response, f *plan.Fault) (err error) {
	leavesOut := f != nil && (f.Action == plan.Empty || f.Action == plan.Truncated)
	if leavesOut {
		if a.body, err = filterItems(a.body, func(n int) bool { return includes(f, n) }); err != nil {
			return err
		}
	}
	if !q.fillsCache() {
		return nil
	}
	if leavesOut {
		l.markIncomplete(q.resource)
	}
	if metaOf(a.body).Metadata.Continue == "" {
		l.markSynced(q.resource)
	}
	return nil
}

func filterItems(body []byte, keep func(n int) bool) ([]byte, error) {
	var list map[string]json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(list["items"], &items); err != nil {
		return nil, err
	}
	kept := items[:0]
	for n, item := range items {
		if keep(n) {
			kept = append(kept, item)
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	list["items"] = text
	return json.Marshal(list)
}

// includes reports whether a list with a fault includes its n-th object.
func includes(f *plan.Fault, n int) bool {
	return f == nil || f.Action != plan.Empty && (f.Action != plan.Truncated || n%2 == 1)
}
