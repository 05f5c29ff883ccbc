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

// transport is the connection between a manager and the API server. It records all requests except watches, can hold back watch
// events, and can change the server's clock.
type transport struct {
	base http.RoundTripper

	mu       sync.Mutex
	thawed   *sync.Cond
	requests []request
	frozen   map[string]bool
	unlisted map[string]bool
	ahead    time.Duration
}

type request struct {
	Method, Path, Body string
	Status             int
}

func newTransport() *transport {
	t := &transport{frozen: map[string]bool{}, unlisted: map[string]bool{}}
	t.thawed = sync.NewCond(&t.mu)
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
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
	t.awaitThaw(t.unlisted, r.URL.Path)
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	if r.URL.Query().Get("watch") == "true" {
		resp.Body = &watchBody{ReadCloser: resp.Body, transport: t, path: r.URL.Path}
		return resp, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	sent.Status = resp.StatusCode
	t.requests = append(t.requests, sent)
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		resp.Header.Set("Date", date.Add(t.ahead).UTC().Format(http.TimeFormat))
	}
	return resp, nil
}

// watchBody is the body of a watch.
type watchBody struct {
	io.ReadCloser
	transport *transport
	path      string
}

// Read holds back what it has read while the resource is frozen.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == nil {
		b.transport.awaitThaw(b.transport.frozen, b.path)
	}
	return n, err
}

// awaitThaw blocks while the resource of a path is in a set.
func (t *transport) awaitThaw(set map[string]bool, path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for set[path[strings.LastIndex(path, "/")+1:]] {
		t.thawed.Wait()
	}
}

// holdLists holds back the lists of a resource until thaw.
func (t *transport) holdLists(resource string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unlisted[resource] = true
}

// freeze holds back the watch events of a resource until thaw, so that the manager's cache is stale.
func (t *transport) freeze(resource string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen[resource] = true
}

func (t *transport) thaw() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.frozen)
	clear(t.unlisted)
	t.thawed.Broadcast()
}

func (t *transport) setServerClockAhead(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ahead = d
}

// find returns the requests of a method whose path contains a text; empty strings match every request.
func (t *transport) find(method, path string) []request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []request
	for _, r := range t.requests {
		if (method == "" || r.Method == method) && strings.Contains(r.Path, path) {
			found = append(found, r)
		}
	}
	return found
}

// writes returns all requests except reads.
func (t *transport) writes() []request {
	var found []request
	for _, r := range t.find("", "") {
		if r.Method != http.MethodGet {
			found = append(found, r)
		}
	}
	return found
}

func (t *transport) resetRequests() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = nil
}
