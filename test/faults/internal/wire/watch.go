// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
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
	link *Link
	q    *request
	out  *io.PipeWriter
}

// watch answers a watch, event by event. It calls done when the watch is over.
func (l *Link) watch(ctx context.Context, r *http.Request, q *request, done func()) (*http.Response, error) {
	l.wire.mu.Lock()
	expired := l.expired[q.Resource] && !q.neighbor
	if expired {
		delete(l.expired, q.Resource)
	}
	l.wire.mu.Unlock()
	if expired {
		defer done()
		a, _ := refusal(plan.Gone, q)
		l.wire.answered(q, a)
		return a.toHTTP(r), nil
	}
	resp, err := l.connect(ctx, r, q)
	if err != nil {
		done()
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer done()
		a, err := read(resp)
		if err != nil {
			return nil, err
		}
		l.wire.answered(q, a)
		return a.toHTTP(r), nil
	}
	in, out := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = out.CloseWithError(errDown) })
	body := resp.Body
	go func() {
		defer done()
		defer stop()
		defer body.Close()
		(&stream{link: l, q: q, out: out}).run(ctx, body)
		_ = out.Close()
	}()
	l.wire.answered(q, response{code: resp.StatusCode, header: resp.Header})
	resp.Body = in
	return resp, nil
}

// connect opens a watch at the API server. That of an operator that is shown the past waits until it is shown the present.
func (l *Link) connect(ctx context.Context, r *http.Request, q *request) (*http.Response, error) {
	if q.fillsCache() && l.IsFrozen() {
		select {
		case <-ctx.Done():
			return nil, errDown
		case <-l.unfrozen:
		}
	}
	return l.Base.RoundTrip(l.upstream(r, q).WithContext(ctx))
}

// run sends events until either side closes, or a fault ends the watch.
func (s *stream) run(ctx context.Context, body io.Reader) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan line, 1024)
	go readLines(ctx, body, lines)
	for {
		select {
		case <-ctx.Done():
			return
		case l, ok := <-lines:
			if !ok || !s.handle(ctx, l) {
				return
			}
		}
	}
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
	if !s.q.fillsCache() || l.Type == "ERROR" || l.Type == "BOOKMARK" {
		s.deliver(l.text)
		return true
	}
	if s.link.Treatment.LateView {
		sleep(ctx, time.Until(l.at.Add(managerDelay)))
	}
	var action plan.Action
	if f := s.link.wire.event(strings.ToLower(l.Type), s.q.Resource, l.Object); f != nil {
		action = f.Action
	}
	switch action {
	case "":
	case plan.Drop:
		return false
	case plan.DropGone:
		s.link.wire.mu.Lock()
		defer s.link.wire.mu.Unlock()
		s.link.expired[s.q.Resource] = true
		return false
	case plan.Delay:
		sleep(ctx, delay)
	case plan.Duplicate:
		s.deliver(l.text)
	default:
		panic("no such action at an event: " + action)
	}
	s.deliver(l.text)
	return true
}
