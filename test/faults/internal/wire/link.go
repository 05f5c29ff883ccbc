// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/judge"
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
	Treatment Treatment
	// Base sends requests to the API server.
	Base http.RoundTripper

	wire *Wire
	// alive ends with the operator: nothing is delivered any more, but what the API server has received it does.
	alive    context.Context
	cut      context.CancelFunc
	unfrozen chan struct{}

	// The mutex of the Wire guards the fields below.
	synced map[string]bool
	// reads are the last live reads of objects in the run's namespace, and of all of a resource.
	reads map[string]time.Time
	// expired are the resources whose next watch is answered with 410 Gone.
	expired map[string]bool
}

// NewLink returns the network of a new operator, which Base has to complete.
func (w *Wire) NewLink(t Treatment) *Link {
	alive, cut := context.WithCancel(context.Background())
	l := &Link{
		Treatment: t, wire: w, alive: alive, cut: cut, unfrozen: make(chan struct{}),
		synced: map[string]bool{}, reads: map[string]time.Time{}, expired: map[string]bool{},
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links = append(w.links, l)
	return l
}

// Cut breaks all connections of an operator that is dead.
func (l *Link) Cut() { l.cut() }

// Unfreeze shows the present to an operator that was shown the past. It is called once.
func (l *Link) Unfreeze() { close(l.unfrozen) }

// IsFrozen returns whether the operator is shown the past.
func (l *Link) IsFrozen() bool {
	select {
	case <-l.unfrozen:
		return false
	default:
		return l.Treatment.Frozen != 0
	}
}

// HasSynced returns whether the caches that deletes depend on have received their initial state.
func (l *Link) HasSynced() bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	return l.hasSynced(cached[:3])
}

func (l *Link) hasSynced(caches []string) bool {
	return !slices.ContainsFunc(caches, func(resource string) bool { return l.wire.needs(resource) && !l.synced[resource] })
}

// HasRead returns whether an object of the run's namespace was read live since a time, alone or with all others.
func (l *Link) HasRead(resource, name string, since time.Time) bool {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	return l.reads[resource+"/"+name].After(since) || l.reads[resource+"/"].After(since)
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
	q, err := parse(r, body)
	if err != nil {
		return nil, err
	}
	f := l.wire.begin(q)
	defer l.wire.end(q)
	// Requests end with the operator's context, or with the operator.
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l.alive, cancel)
	if q.Verb == "watch" {
		return l.watch(ctx, r, q, func() { stop(); cancel() })
	}
	defer cancel()
	defer stop()
	if q.isWrite() && l.Treatment.LateWrites {
		sleep(ctx, managerDelay)
	}
	a, err := l.answer(ctx, r, q, f)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	l.wire.answered(q, a)
	l.read(q, a)
	return a.toHTTP(r), nil
}

// read records what the operator has read live, and which caches it has filled.
func (l *Link) read(q *request, a response) {
	l.wire.mu.Lock()
	defer l.wire.mu.Unlock()
	answered := a.code == http.StatusOK || a.code == http.StatusNotFound
	if answered && q.Namespace == l.wire.options.Namespace && (q.Verb == "get" || q.Verb == "list") {
		l.reads[q.Resource+"/"+q.Name] = time.Now()
	}
	if q.Verb == "list" && q.fillsCache() && a.code == http.StatusOK && headOf(a.body).Metadata.Continue == "" {
		l.synced[q.Resource] = true
	}
}

// answer returns the response to a request, with its fault if there is one.
func (l *Link) answer(ctx context.Context, r *http.Request, q *request, f *plan.Fault) (response, error) {
	if f == nil {
		return l.forward(ctx, r, q)
	}
	switch f.Action {
	case plan.CrashBefore:
		l.wire.options.Crash(l, *f)
		return response{}, errDown
	case plan.CrashAfter, plan.Travel:
		_, _ = l.forward(ctx, r, q)
		l.wire.options.Crash(l, *f)
		return response{}, errDown
	case plan.Lost:
		_, _ = l.forward(ctx, r, q)
		return response{}, errDown
	case plan.TimedOut:
		_, _ = l.forward(ctx, r, q)
	case plan.Stale:
		q.query = listAt(q.query, l.wire.options.Ages()[f.Age])
		return l.send(r, q)
	}
	a, ok := refusal(f.Action, q)
	if !ok {
		panic("no such action at a request: " + f.Action)
	}
	return a, nil
}

// forward sends a request to the API server, unless something is always done to it.
func (l *Link) forward(ctx context.Context, r *http.Request, q *request) (response, error) {
	if always := l.wire.options.Always; always != nil {
		action := always(q.point)
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
	if l.IsFrozen() && q.Verb == "list" && q.fillsCache() {
		q.query = listAt(q.query, l.Treatment.Frozen)
	}
	return l.send(r, q)
}

// listAt returns the query for a list as it was at a revision.
func listAt(query url.Values, revision int64) url.Values {
	q := maps.Clone(query)
	q.Del("limit")
	q.Set("resourceVersion", strconv.FormatInt(revision, 10))
	q.Set("resourceVersionMatch", "Exact")
	return q
}

// send sends a request to the API server, which gets it even if the operator dies meanwhile. A write is judged before.
func (l *Link) send(r *http.Request, q *request) (response, error) {
	answered := func(int) {}
	if q.isWrite() && !q.neighbor {
		l.wire.World.Lock()
		defer l.wire.World.Unlock()
		answered = l.wire.options.Judge(context.Background(), l, judge.Attempt{
			Verb: q.Verb, Resource: q.Resource, Subresource: q.Subresource, Namespace: q.Namespace, Name: q.Name, Body: q.body,
			Unsynced: !l.HasSynced(),
		})
	}
	resp, err := l.Base.RoundTrip(l.upstream(r, q).WithContext(context.WithoutCancel(r.Context())))
	if err != nil {
		return response{}, err
	}
	a, err := read(resp)
	if err == nil {
		answered(a.code)
	}
	return a, err
}

// upstream returns the request to the API server: for objects of the run, or for the one with the name of its namespace; answered in
// JSON, which can be read here.
func (l *Link) upstream(r *http.Request, q *request) *http.Request {
	out := r.Clone(r.Context())
	query := maps.Clone(q.query)
	switch namespace := l.wire.options.Namespace; {
	case q.Name != "" || q.Namespace != "" || !slices.Contains(cached, q.Resource):
	case q.Resource == snapshotClasses || slices.Contains(fleets, q.Resource):
		query.Set("fieldSelector", "metadata.name="+namespace)
	default:
		out.URL.Path = strings.TrimSuffix(r.URL.Path, q.Resource) + "namespaces/" + namespace + "/" + q.Resource
	}
	out.URL.RawPath, out.URL.RawQuery = "", query.Encode()
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(q.body)), int64(len(q.body))
	if len(q.body) == 0 {
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
