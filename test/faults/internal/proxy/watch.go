// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// line is one event of a watch, with the time it came.
type line struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`

	text []byte
	at   time.Time
}

// stream is one watch on its way through.
type stream struct {
	*Process
	w      http.ResponseWriter
	r      *http.Request
	q      request
	fault  *plan.Fault
	relist chan struct{}
	// initial is set until the watch has told all there is; n counts that.
	initial bool
	n       int
}

// watch lets a watch through, event by event.
func (p *Process) watch(w http.ResponseWriter, r *http.Request, q request, i int, f *plan.Fault) {
	p.gate.mu.Lock()
	s := &stream{Process: p, w: w, r: r, q: q, fault: f, relist: p.relist, initial: q.initial}
	refused := p.refuse[q.resource]
	delete(p.refuse, q.resource)
	p.gate.mu.Unlock()
	do := plan.Deed("")
	if f != nil {
		do = f.Do
	}
	if refused {
		do = plan.Gone
	}
	if a, ok := refusal(do, q); ok {
		p.write(w, q, i, a)
		return
	}
	if do == plan.Empty || do == plan.Truncated {
		p.leftOut(q.resource)
	}
	if p.frozen() && q.fillsCache() {
		s.q.query = s.old(i, p.how.Frozen)
		select {
		case <-r.Context().Done():
			return
		case <-p.thaw:
		}
	} else if do == plan.Stale {
		s.q.query = s.old(i, p.gate.Past.Ages()[f.Age])
	}
	s.pass(i)
}

// old shows what there was at a revision, if the watch is to begin with that, and
// returns how to go on from there.
func (s *stream) old(i int, revision int64) url.Values {
	if !s.initial {
		s.head(i, http.Header{"Content-Type": {"application/json"}})
		return s.q.query
	}
	list := s.q
	list.query = exactly(s.q.query, revision)
	a := s.roundTrip(s.r, list, i)
	if a.code != http.StatusOK {
		panic(http.ErrAbortHandler)
	}
	s.head(i, a.header)
	events, err := asEvents(a.body, revision)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for _, e := range events {
		s.send(e)
	}
	s.initial = false
	s.filled(s.q.resource)
	next := cloneValues(s.q.query)
	next.Del("sendInitialEvents")
	next.Del("resourceVersionMatch")
	next.Set("resourceVersion", strconv.FormatInt(revision, 10))
	return next
}

// exactly asks for a list as it was at a revision.
func exactly(query url.Values, revision int64) url.Values {
	q := cloneValues(query)
	for _, key := range []string{"watch", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds", "timeout", "limit"} {
		q.Del(key)
	}
	q.Set("resourceVersion", strconv.FormatInt(revision, 10))
	q.Set("resourceVersionMatch", "Exact")
	return q
}

func cloneValues(q url.Values) url.Values {
	clone := url.Values{}
	for key, values := range q {
		clone[key] = append([]string(nil), values...)
	}
	return clone
}

// asEvents makes of a list what a watch begins with.
func asEvents(list []byte, revision int64) ([][]byte, error) {
	var l struct {
		Kind       string                       `json:"kind"`
		APIVersion string                       `json:"apiVersion"`
		Items      []map[string]json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(list, &l); err != nil {
		return nil, err
	}
	kind := strings.TrimSuffix(l.Kind, "List")
	var events [][]byte
	for _, item := range l.Items {
		item["kind"], item["apiVersion"] = json.RawMessage(strconv.Quote(kind)), json.RawMessage(strconv.Quote(l.APIVersion))
		text, err := json.Marshal(map[string]any{"type": "ADDED", "object": item})
		if err != nil {
			return nil, err
		}
		events = append(events, text)
	}
	end := fmt.Appendf(nil, `{"type":"BOOKMARK","object":{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d",`+
		`"creationTimestamp":null,"annotations":{"k8s.io/initial-events-end":"true"}}}}`, kind, l.APIVersion, revision)
	return append(events, end), nil
}

func (s *stream) head(i int, header http.Header) {
	date := s.copyHeader(s.w, header)
	s.gate.seen(i, s.q, answer{code: http.StatusOK}, date)
	s.w.WriteHeader(http.StatusOK)
	s.flush()
}

func (s *stream) flush() {
	if err := http.NewResponseController(s.w).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *stream) send(text []byte) {
	_, _ = s.w.Write(append(text, '\n'))
	s.flush()
}

// pass copies the API server's events until one of the ends closes, or a fault
// does.
func (s *stream) pass(i int) {
	ctx, cancel := context.WithCancel(s.r.Context())
	defer cancel()
	resp, err := s.gate.Transport.RoundTrip(s.upstream(s.r, s.q).WithContext(ctx))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	s.gate.reached(i, s.q, answer{code: resp.StatusCode})
	if resp.StatusCode != http.StatusOK {
		s.refused(i, resp)
		return
	}
	if s.w.Header().Get("Content-Type") == "" {
		s.head(i, resp.Header)
	}
	lines := make(chan line, 1024)
	go read(ctx, resp, lines)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.relist:
			gone, _ := refusal(plan.Gone, s.q)
			s.send(fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, gone.body))
			return
		case l, ok := <-lines:
			if !ok || !s.event(ctx, l) {
				return
			}
		}
	}
}

func (s *stream) refused(i int, resp *http.Response) {
	var text strings.Builder
	if _, err := bufio.NewReader(resp.Body).WriteTo(&text); err != nil {
		panic(http.ErrAbortHandler)
	}
	a := answer{code: resp.StatusCode, header: resp.Header, body: []byte(text.String())}
	s.gate.reached(i, s.q, a)
	s.write(s.w, s.q, i, a)
}

func read(ctx context.Context, resp *http.Response, lines chan<- line) {
	defer close(lines)
	in := bufio.NewReaderSize(resp.Body, 1<<16)
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		l := line{text: text[:len(text)-1], at: time.Now()}
		if json.Unmarshal(text, &l) != nil {
			return
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
	}
}

// event delivers one event, or does to it what is planned. It returns false if
// the watch is to end.
func (s *stream) event(ctx context.Context, l line) bool {
	if !s.q.fillsCache() || l.Type == "ERROR" {
		s.send(l.text)
		return true
	}
	if s.initial {
		s.begins(l)
		return true
	}
	if l.Type == "BOOKMARK" {
		s.send(l.text)
		return true
	}
	if s.how.LateView {
		sleep(ctx, time.Until(l.at.Add(managerLateBy)))
	}
	f := s.gate.news(strings.ToLower(l.Type), s.q.resource, metaOf(l.Object))
	if f == nil {
		s.send(l.text)
		return true
	}
	switch f.Do {
	case plan.Drop:
		return false
	case plan.DropGone:
		s.gate.mu.Lock()
		s.refuse[s.q.resource] = true
		s.gate.mu.Unlock()
		return false
	case plan.Delay:
		sleep(ctx, lateBy)
		s.gate.Faulty()
		s.send(l.text)
	case plan.Duplicate:
		s.send(l.text)
		s.send(l.text)
	default:
		panic("no such deed at an event: " + f.Do)
	}
	return true
}

// begins delivers what a watch begins with.
func (s *stream) begins(l line) {
	if l.Type == "BOOKMARK" {
		s.initial = false
		s.send(l.text)
		s.filled(s.q.resource)
		return
	}
	if shown(s.fault, s.n) {
		s.send(l.text)
	}
	s.n++
}
