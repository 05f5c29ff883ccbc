// Copyright 2026 The SnapshotSchedule Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// request is one that the operator made.
type request struct {
	method, path, query, body string
	answer                    int
}

// network stands between the operator and the API server.
type network struct {
	base http.RoundTripper
	// ahead is how far the API server's clock seems to be ahead of the machine's.
	ahead atomic.Int64
	// refuse answers in the place of the API server, if it returns a code.
	refuse func(*http.Request) int
	// lose tells whether the answer to a request is lost.
	lose func(*http.Request) bool

	mu       sync.Mutex
	requests []request
	frozen   map[string]chan struct{} // by resource
}

// RoundTrip implements http.RoundTripper.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := request{method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, body: bodyOf(r)}
	if n.refuse != nil {
		if code := n.refuse(r); code != 0 {
			sent.answer = code
			n.note(sent)
			return refusal(r, code), nil
		}
	}
	resp, err := n.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if n.lose != nil && n.lose(r) {
		_ = resp.Body.Close()
		return nil, errors.New("the answer is lost")
	}
	sent.answer = resp.StatusCode
	n.note(sent)
	if stamped, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		resp.Header.Set("Date", stamped.Add(time.Duration(n.ahead.Load())).UTC().Format(http.TimeFormat))
	}
	if sent.watches() {
		resp.Body = &gate{ReadCloser: resp.Body, network: n, resource: sent.resource(), done: r.Context().Done()}
	}
	return resp, nil
}

func bodyOf(r *http.Request) string {
	if r.GetBody == nil {
		return ""
	}
	body, err := r.GetBody()
	if err != nil {
		return ""
	}
	text, _ := io.ReadAll(body)
	return string(text)
}

func refusal(r *http.Request, code int) *http.Response {
	return &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/plain"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Body:   io.NopCloser(bytes.NewBufferString("refused by the test")),
	}
}

func (r request) watches() bool { return strings.Contains(r.query, "watch=true") }

// resource is the plural in the path.
func (r request) resource() string {
	for _, resource := range []string{"volumesnapshots", "persistentvolumeclaims", "snapshotschedules", "events"} {
		if strings.Contains(r.path, "/"+resource) {
			return resource
		}
	}
	return ""
}

func (n *network) note(r request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.requests = append(n.requests, r)
}

// seen are the requests so far that match.
func (n *network) seen(match func(request) bool) (all []request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.requests {
		if match(r) {
			all = append(all, r)
		}
	}
	return all
}

// of counts the requests of a method on objects of a resource, watches aside.
func (n *network) of(method, resource string) int {
	return len(n.seen(func(r request) bool { return r.method == method && r.resource() == resource && !r.watches() }))
}

// freeze holds back what the API server has to tell of a resource, until thaw.
func (n *network) freeze(resource string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.frozen == nil {
		n.frozen = map[string]chan struct{}{}
	}
	n.frozen[resource] = make(chan struct{})
}

func (n *network) thaw(resource string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.frozen[resource])
	delete(n.frozen, resource)
}

func (n *network) ice(resource string) chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.frozen[resource]
}

// gate is the body of a watch.
type gate struct {
	io.ReadCloser
	network  *network
	resource string
	done     <-chan struct{}
}

// Read holds back what it has read while the network is frozen.
func (g *gate) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	if ice := g.network.ice(g.resource); ice != nil {
		select {
		case <-ice:
		case <-g.done:
		}
	}
	return n, err
}
