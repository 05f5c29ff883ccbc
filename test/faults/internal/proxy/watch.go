// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mapcontroller.dev/snapshotschedule/test/faults/internal/plan"
)

// line is one event of a watch, with its arrival time.
type line struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`

	text []byte
	at   time.Time
}

// stream forwards one watch.
type stream struct {
	*Endpoint
	w      http.ResponseWriter
	r      *http.Request
	q      request
	fault  *plan.Fault
	relist chan struct{}
	// initial is set until the initial events are delivered; n counts them.
	initial bool
	n       int
}

// watch forwards a watch, event by event.
func (e *Endpoint) watch(w http.ResponseWriter, r *http.Request, q request, i int, f *plan.Fault) {
	e.proxy.mu.Lock()
	s := &stream{Endpoint: e, w: w, r: r, q: q, fault: f, relist: e.relist, initial: q.initial}
	expired := e.expired[q.resource] && !q.neighbor
	if expired {
		delete(e.expired, q.resource)
	}
	e.proxy.mu.Unlock()
	action := plan.Action("")
	if f != nil {
		action = f.Action
	}
	if expired {
		action = plan.Gone
	}
	if a, ok := refusal(action, q); ok {
		e.write(w, q, i, a)
		return
	}
	if action == plan.Empty || action == plan.Truncated {
		e.markIncomplete(q.resource)
	}
	if e.frozen() && q.fillsCache() {
		s.q.query = s.sendPast(i, e.treatment.Frozen)
		select {
		case <-r.Context().Done():
			return
		case <-e.unfrozen:
		}
	} else if action == plan.Stale {
		s.q.query = s.sendPast(i, e.proxy.Past.Ages()[f.Age])
	}
	s.forwardEvents(i)
}

// sendPast sends the objects of a revision as initial events, if the watch starts
// with them, and returns the query that continues from there.
func (s *stream) sendPast(i int, revision int64) url.Values {
	if !s.initial {
		s.sendHeader(i, http.Header{"Content-Type": {"application/json"}})
		return s.q.query
	}
	list := s.q
	list.query = listAt(s.q.query, revision)
	a := s.roundTrip(s.r, list, i)
	if a.code != http.StatusOK {
		panic(http.ErrAbortHandler)
	}
	s.sendHeader(i, a.header)
	events, err := initialEvents(a.body, revision, s.q.metadata)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for _, e := range events {
		s.send(e)
	}
	s.initial = false
	s.markSynced(s.q.resource)
	next := maps.Clone(s.q.query)
	next.Del("sendInitialEvents")
	next.Del("resourceVersionMatch")
	next.Set("resourceVersion", strconv.FormatInt(revision, 10))
	return next
}

// listAt returns the query for a list as it was at a revision.
func listAt(query url.Values, revision int64) url.Values {
	q := maps.Clone(query)
	for _, key := range []string{"watch", "sendInitialEvents", "allowWatchBookmarks", "timeoutSeconds", "timeout", "limit"} {
		q.Del(key)
	}
	q.Set("resourceVersion", strconv.FormatInt(revision, 10))
	q.Set("resourceVersionMatch", "Exact")
	return q
}

// initialEvents returns a list as the initial events of a watch, of metadata alone if that was requested.
func initialEvents(list []byte, revision int64, metadata bool) ([][]byte, error) {
	var l struct {
		Kind       string                       `json:"kind"`
		APIVersion string                       `json:"apiVersion"`
		Items      []map[string]json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(list, &l); err != nil {
		return nil, err
	}
	kind := strings.TrimSuffix(l.Kind, "List")
	if metadata {
		kind, l.APIVersion = metadataKind, metadataVersion
	}
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

func (s *stream) sendHeader(i int, header http.Header) {
	date := s.copyHeader(s.w, header)
	s.proxy.recordDelivered(i, s.q, response{code: http.StatusOK}, date)
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

// forwardEvents copies the API server's events until either side closes, or a fault
// ends the watch.
func (s *stream) forwardEvents(i int) {
	ctx, cancel := context.WithCancel(s.r.Context())
	defer cancel()
	resp, err := s.proxy.Transport.RoundTrip(s.upstream(s.r, s.q).WithContext(ctx))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	s.proxy.recordAnswer(i, s.q, response{code: resp.StatusCode})
	if resp.StatusCode != http.StatusOK {
		s.forwardRefusal(i, resp)
		return
	}
	if s.w.Header().Get("Content-Type") == "" {
		s.sendHeader(i, resp.Header)
	}
	lines := make(chan line, 1024)
	go readLines(ctx, resp, lines)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.relist:
			gone, _ := refusal(plan.Gone, s.q)
			s.send(fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, gone.body))
			return
		case l, ok := <-lines:
			if !ok || !s.handleEvent(ctx, l) {
				return
			}
		}
	}
}

func (s *stream) forwardRefusal(i int, resp *http.Response) {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	a := response{code: resp.StatusCode, header: resp.Header, body: body}
	s.proxy.recordAnswer(i, s.q, a)
	s.write(s.w, s.q, i, a)
}

func readLines(ctx context.Context, resp *http.Response, lines chan<- line) {
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

// handleEvent delivers one event, or injects its fault. It returns false if the
// watch must end.
func (s *stream) handleEvent(ctx context.Context, l line) bool {
	if !s.q.fillsCache() || l.Type == "ERROR" {
		s.send(l.text)
		return true
	}
	if s.initial {
		s.handleInitial(l)
		return true
	}
	if l.Type == "BOOKMARK" {
		s.send(l.text)
		return true
	}
	if s.treatment.LateView {
		sleep(ctx, time.Until(l.at.Add(managerDelay)))
	}
	f := s.proxy.recordEvent(strings.ToLower(l.Type), s.q.resource, metaOf(l.Object))
	if f == nil {
		s.send(l.text)
		return true
	}
	switch f.Action {
	case plan.Drop:
		return false
	case plan.DropGone:
		s.proxy.mu.Lock()
		s.expired[s.q.resource] = true
		s.proxy.mu.Unlock()
		return false
	case plan.Delay:
		sleep(ctx, delay)
		s.proxy.MarkFaulty()
		s.send(l.text)
	case plan.Duplicate:
		s.send(l.text)
		s.send(l.text)
	default:
		panic("no such action at an event: " + f.Action)
	}
	return true
}

// handleInitial delivers an initial event, unless the fault leaves it out.
func (s *stream) handleInitial(l line) {
	if l.Type == "BOOKMARK" {
		s.initial = false
		s.send(l.text)
		s.markSynced(s.q.resource)
		return
	}
	if includes(s.fault, s.n) {
		s.send(l.text)
	}
	s.n++
}
