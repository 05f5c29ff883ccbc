// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

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

// stream forwards one watch to a pipe, from which the operator reads.
type stream struct {
	*Link
	ctx    context.Context
	r      *http.Request
	q      request
	fault  *plan.Fault
	relist chan struct{}
	out    *io.PipeWriter
	// initial is set until the initial events are delivered; n counts them.
	initial bool
	n       int
}

// watch answers a watch, event by event. It calls done when the watch is over.
func (l *Link) watch(ctx context.Context, r *http.Request, q request, i int, f *plan.Fault, done func()) (*http.Response, error) {
	l.mu.Lock()
	s := &stream{Link: l, ctx: ctx, r: r, q: q, fault: f, relist: l.relist, initial: q.initial}
	expired := l.expired[q.resource] && !q.neighbor
	if expired {
		delete(l.expired, q.resource)
	}
	l.mu.Unlock()
	action := plan.Action("")
	if f != nil {
		action = f.Action
	}
	if expired {
		action = plan.Gone
	}
	if a, ok := refusal(action, q); ok {
		defer done()
		l.answered(i, q, &a)
		return a.toHTTP(r), nil
	}
	if action == plan.Empty || action == plan.Truncated {
		l.markIncomplete(q.resource)
	}
	var past int64
	if frozen := l.IsFrozen() && q.fillsCache(); frozen {
		past = l.Frozen
	} else if action == plan.Stale {
		past = l.Past.Ages()[f.Age]
	}
	return s.open(i, past, done)
}

// open opens the watch at the API server, or one of the past, and returns the response to the
// operator, whose body is written from then on.
func (s *stream) open(i int, past int64, done func()) (*http.Response, error) {
	var resp *http.Response
	if past == 0 {
		var err error
		if resp, err = s.connect(); err != nil {
			done()
			return nil, err
		}
		if resp.StatusCode != http.StatusOK {
			defer done()
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			a := response{code: resp.StatusCode, header: resp.Header, body: body}
			s.answered(i, s.q, &a)
			return a.toHTTP(s.r), err
		}
	}
	in, out := io.Pipe()
	s.out = out
	stop := context.AfterFunc(s.ctx, func() { _ = out.CloseWithError(errDown) })
	go func() {
		defer done()
		defer stop()
		_ = out.CloseWithError(s.run(resp, past))
	}()
	a := response{code: http.StatusOK, header: http.Header{"Content-Type": {"application/json"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}}}
	s.answered(i, s.q, &a)
	answer := a.toHTTP(s.r)
	answer.Body, answer.ContentLength = in, -1
	return answer, nil
}

func (s *stream) connect() (*http.Response, error) {
	return s.Base.RoundTrip(s.upstream(s.r, s.q).WithContext(s.ctx))
}

// run sends the objects of a revision as initial events, if there is one, and then events until
// either side closes or a fault ends the watch: then it returns io.EOF.
func (s *stream) run(resp *http.Response, past int64) error {
	if past > 0 {
		var err error
		if s.q.query, err = s.sendPast(past); err != nil {
			return err
		}
		if s.IsFrozen() && s.q.fillsCache() {
			select {
			case <-s.ctx.Done():
				return errDown
			case <-s.unfrozen:
			}
		}
		if resp, err = s.connect(); err != nil {
			return err
		}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return io.EOF // the operator asks again, and gets the refusal
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	lines := make(chan line, 1024)
	go readLines(ctx, resp.Body, lines)
	for {
		select {
		case <-ctx.Done():
			return errDown
		case <-s.relist:
			gone, _ := refusal(plan.Gone, s.q)
			s.deliver(fmt.Appendf(nil, `{"type":"ERROR","object":%s}`, gone.body))
			return io.EOF
		case l, ok := <-lines:
			if !ok || !s.handle(ctx, l) {
				return io.EOF
			}
		}
	}
}

// sendPast sends the objects of a revision, if the watch begins with the present ones, and returns
// the query that continues from there.
func (s *stream) sendPast(revision int64) (url.Values, error) {
	next := maps.Clone(s.q.query)
	if !s.initial {
		return next, nil
	}
	list := s.q
	list.query = listAt(s.q.query, revision)
	a, err := s.send(s.r, list)
	if err != nil || a.code != http.StatusOK {
		return nil, errDown
	}
	events, err := initialEvents(a.body, revision, s.q.metadata)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		s.deliver(e)
	}
	s.initial = false
	s.markSynced(s.q.resource)
	next.Del("sendInitialEvents")
	next.Del("resourceVersionMatch")
	next.Set("resourceVersion", strconv.FormatInt(revision, 10))
	return next, nil
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

// initialEvents returns a list as the initial events of a watch, of metadata alone if that was
// requested.
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

func (s *stream) deliver(text []byte) { _, _ = s.out.Write(append(text, '\n')) }

func readLines(ctx context.Context, from io.Reader, lines chan<- line) {
	defer close(lines)
	in := bufio.NewReaderSize(from, 1<<16)
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

// handle delivers one event, or injects its fault. It returns false if the watch must end.
func (s *stream) handle(ctx context.Context, l line) bool {
	switch {
	case !s.q.fillsCache() || l.Type == "ERROR":
		s.deliver(l.text)
		return true
	case s.initial:
		s.handleInitial(l)
		return true
	case l.Type == "BOOKMARK":
		s.deliver(l.text)
		return true
	}
	if s.LateView {
		sleep(ctx, time.Until(l.at.Add(managerDelay)))
	}
	f := s.event(strings.ToLower(l.Type), s.q.resource, metaOf(l.Object))
	if f == nil {
		s.deliver(l.text)
		return true
	}
	switch f.Action {
	case plan.Drop:
		return false
	case plan.DropGone:
		s.mu.Lock()
		s.expired[s.q.resource] = true
		s.mu.Unlock()
		return false
	case plan.Delay:
		sleep(ctx, delay)
		s.deliver(l.text)
	case plan.Duplicate:
		s.deliver(l.text)
		s.deliver(l.text)
	default:
		panic("no such action at an event: " + f.Action)
	}
	return true
}

// handleInitial delivers an initial event, unless the fault leaves it out.
func (s *stream) handleInitial(l line) {
	if l.Type == "BOOKMARK" {
		s.initial = false
		s.deliver(l.text)
		s.markSynced(s.q.resource)
		return
	}
	if includes(s.fault, s.n) {
		s.deliver(l.text)
	}
	s.n++
}
