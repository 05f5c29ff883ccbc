// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package enginetest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// wire is the transport between a manager and the API server. It remembers all
// requests but watches, can hold watch events back, and can lie about the time.
type wire struct {
	base http.RoundTripper

	mu       sync.Mutex
	changed  *sync.Cond
	requests []request
	frozen   map[string]bool
	ahead    time.Duration
}

type request struct {
	Method, Path, Body string
	Status             int
}

func newWire() *wire {
	w := &wire{frozen: map[string]bool{}}
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := request{Method: r.Method, Path: r.URL.Path}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		sent.Body = string(body)
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if r.URL.Query().Get("watch") == "true" {
		resp.Body = &watchBody{ReadCloser: resp.Body, wire: w, path: r.URL.Path}
		return resp, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sent.Status = resp.StatusCode
	w.requests = append(w.requests, sent)
	if stamped, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		resp.Header.Set("Date", stamped.Add(w.ahead).UTC().Format(http.TimeFormat))
	}
	return resp, nil
}

// watchBody holds back what it read while its resource is frozen.
type watchBody struct {
	io.ReadCloser
	wire *wire
	path string
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.wire.mu.Lock()
	defer b.wire.mu.Unlock()
	for err == nil && b.wire.frozen[b.path[strings.LastIndex(b.path, "/")+1:]] {
		b.wire.changed.Wait()
	}
	return n, err
}

// freeze holds back the watch events of a resource until thaw.
func (w *wire) freeze(resource string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen[resource] = true
}

func (w *wire) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.frozen)
	w.changed.Broadcast()
}

// lie makes the API server's clock run ahead.
func (w *wire) lie(ahead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead = ahead
}

// sent returns the requests of a method, to paths with some text in them; ""
// for all.
func (w *wire) sent(method, path string) []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []request
	for _, r := range w.requests {
		if (method == "" || r.Method == method) && strings.Contains(r.Path, path) {
			found = append(found, r)
		}
	}
	return found
}

// written returns what was asked to change.
func (w *wire) written() []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []request
	for _, r := range w.requests {
		if r.Method != http.MethodGet {
			found = append(found, r)
		}
	}
	return found
}

func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = nil
}
