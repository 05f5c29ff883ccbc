// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// Process is one process of the operator, with an address of its own.
type Process struct {
	gate *Gate
	// Index counts the processes of a run from 0.
	Index int
	// URL is where it finds its API server.
	URL string

	server *http.Server
	how    Manner
	began  time.Time
	full   time.Time
	dead   bool
	synced map[string]bool
	// refuse are the resources whose next watch is told that it is too late.
	refuse map[string]bool
	// relist ends watches so that the operator lists again, and short are the
	// resources of which a list left something out.
	relist chan struct{}
	short  map[string]bool
	thaw   chan struct{}
	once   sync.Once
}

// Manner is how a process is treated as long as it lives.
type Manner struct {
	// Frozen, if not 0, is the revision that lists show, and watches stay at,
	// until Thaw.
	Frozen int64
	// LateView and LateWrites hold back every event, or every write.
	LateView, LateWrites bool
}

// Listen opens an address for a new process.
func (g *Gate) Listen(how Manner) (*Process, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	p := &Process{
		gate: g, Index: len(g.peers), URL: "http://" + listener.Addr().String(), how: how, began: time.Now(),
		synced: map[string]bool{}, refuse: map[string]bool{}, short: map[string]bool{},
		relist: make(chan struct{}), thaw: make(chan struct{}),
	}
	g.peers = append(g.peers, p)
	if how.Frozen > 0 {
		g.touch(p.began)
	}
	g.mu.Unlock()
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	return p, nil
}

// Close ends all connections of a process that is dead.
func (p *Process) Close() {
	p.gate.mu.Lock()
	p.dead = true
	if p.full.IsZero() {
		p.full = time.Now()
	}
	p.gate.mu.Unlock()
	_ = p.server.Close()
}

// Thaw lets the present through to a process that was shown the past.
func (p *Process) Thaw() {
	p.once.Do(func() {
		p.gate.Faulty()
		close(p.thaw)
	})
}

// Heal has the operator list again what a list left out.
func (p *Process) Heal() bool {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if len(p.short) == 0 {
		return false
	}
	p.short = map[string]bool{}
	p.gate.touch(time.Now())
	close(p.relist)
	p.relist = make(chan struct{})
	return true
}

func (p *Process) frozen() bool {
	if p.how.Frozen == 0 {
		return false
	}
	select {
	case <-p.thaw:
		return false
	default:
		return true
	}
}

// ServeHTTP lets one request through, or not.
func (p *Process) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	q := parse(r, body)
	i, f := p.gate.begin(p, &q)
	defer p.gate.end(q)
	if q.write() && p.how.LateWrites {
		sleep(r.Context(), managerLateBy)
	}
	if q.verb == "watch" {
		p.watch(w, r, q, i, f)
		return
	}
	a := p.do(r, q, i, f)
	if q.verb == "list" && a.code == http.StatusOK {
		if a.body, err = p.listed(q, a.body, f); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
	p.write(w, q, i, a)
}

// do gets the answer to a request, with a fault if there is one.
func (p *Process) do(r *http.Request, q request, i int, f *plan.Fault) answer {
	if f == nil {
		return p.forward(r, q, i)
	}
	switch f.Do {
	case plan.CrashBefore:
		p.gate.Crash(p.Index, *f)
		panic(http.ErrAbortHandler)
	case plan.CrashAfter, plan.Travel:
		p.forward(r, q, i)
		p.gate.Crash(p.Index, *f)
		panic(http.ErrAbortHandler)
	case plan.Lost:
		p.forward(r, q, i)
		panic(http.ErrAbortHandler)
	case plan.TimedOut:
		p.forward(r, q, i)
	case plan.Delay:
		sleep(r.Context(), lateBy)
		return p.forward(r, q, i)
	case plan.Stale:
		return p.stale(r, q, i, f)
	case plan.Empty, plan.Truncated:
		return p.forward(r, q, i)
	}
	a, ok := refusal(f.Do, q)
	if !ok {
		panic("no such deed at a request: " + f.Do)
	}
	return a
}

func (p *Process) stale(r *http.Request, q request, i int, f *plan.Fault) answer {
	revision := p.gate.Past.Ages()[f.Age]
	if q.verb == "list" {
		return p.forwardAt(r, q, i, revision)
	}
	a := p.forward(r, q, i)
	if a.code != http.StatusOK && a.code != http.StatusNotFound {
		return a
	}
	was := p.gate.Past.Object(q.resource, q.name, revision)
	if was == nil {
		return notFound(q)
	}
	return answer{code: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}}, body: was}
}

func (p *Process) forward(r *http.Request, q request, i int) answer {
	if p.gate.Always != nil {
		if a, ok := refusal(p.gate.Always(q.point), q); ok {
			return a
		}
	}
	if p.frozen() && q.verb == "list" && q.fillsCache() {
		return p.forwardAt(r, q, i, p.how.Frozen)
	}
	return p.roundTrip(r, q, i)
}

// forwardAt asks the API server for a list as it was.
func (p *Process) forwardAt(r *http.Request, q request, i int, revision int64) answer {
	q.query = exactly(q.query, revision)
	return p.roundTrip(r, q, i)
}

func (p *Process) roundTrip(r *http.Request, q request, i int) answer {
	out := p.upstream(r, q)
	// What the operator has sent is on its way, whatever becomes of the operator.
	out = out.WithContext(context.WithoutCancel(r.Context()))
	resp, err := p.gate.Transport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	a := answer{code: resp.StatusCode, header: resp.Header, body: body}
	p.gate.reached(i, q, a)
	return a
}

// upstream is the request as it goes to the API server: confined to the
// namespace, and answered in JSON so that it can be read here.
func (p *Process) upstream(r *http.Request, q request) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = p.gate.Upstream.Scheme, p.gate.Upstream.Host
	out.URL.Path = q.confined(r.URL.Path, p.gate.Namespace)
	out.URL.RawPath = ""
	out.URL.RawQuery = q.query.Encode()
	out.Host, out.RequestURI = "", ""
	out.Body = io.NopCloser(strings.NewReader(string(q.body)))
	out.ContentLength = int64(len(q.body))
	out.Header.Del("Accept-Encoding")
	out.Header.Del("Connection")
	out.Header.Set("Authorization", "Bearer "+p.gate.Token)
	out.Header.Set("Accept", readable(r.Header.Get("Accept")))
	return out
}

// readable leaves of what a client accepts what is JSON.
func readable(accept string) string {
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

// write sends an answer, with the Date that the operator is to believe.
func (p *Process) write(w http.ResponseWriter, q request, i int, a answer) {
	date := p.copyHeader(w, a.header)
	p.gate.seen(i, q, a, date)
	w.WriteHeader(a.code)
	_, _ = w.Write(a.body)
}

func (p *Process) copyHeader(w http.ResponseWriter, from http.Header) time.Time {
	header := w.Header()
	for key, values := range from {
		if key != "Content-Length" && key != "Date" && key != "Transfer-Encoding" {
			header[key] = values
		}
	}
	truth := from.Get("Date")
	if truth == "" {
		truth = time.Now().UTC().Format(http.TimeFormat)
	}
	header["Date"] = nil // none of the server's own
	told, ok := p.gate.dateOf(truth)
	if !ok {
		return time.Time{}
	}
	header.Set("Date", told)
	at, err := http.ParseTime(told)
	if err != nil {
		return time.Time{}
	}
	return at
}

// listed is a list as the operator is shown it.
func (p *Process) listed(q request, body []byte, f *plan.Fault) ([]byte, error) {
	if !q.fillsCache() {
		return thin(body, f)
	}
	body, err := thin(body, f)
	if err != nil {
		return nil, err
	}
	if f != nil && (f.Do == plan.Empty || f.Do == plan.Truncated) {
		p.leftOut(q.resource)
	}
	if metaOf(body).Metadata.Continue == "" {
		p.filled(q.resource)
	}
	return body, nil
}

// thin leaves objects out of a list.
func thin(body []byte, f *plan.Fault) ([]byte, error) {
	if f == nil || f.Do != plan.Empty && f.Do != plan.Truncated {
		return body, nil
	}
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
		if shown(f, n) {
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

// shown tells whether the n-th object of a list is left in.
func shown(f *plan.Fault, n int) bool {
	if f == nil {
		return true
	}
	return f.Do != plan.Empty && (f.Do != plan.Truncated || n%2 == 1)
}

func (p *Process) leftOut(resource string) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.short[resource] = true
}

// filled takes note that a cache has all that it is going to be given first.
func (p *Process) filled(resource string) {
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.synced[resource] = true
	p.gate.last = time.Now()
	if len(p.synced) == len(cached) && p.full.IsZero() {
		p.full = p.gate.last
	}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
